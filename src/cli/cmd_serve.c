/* `kiln serve`: builds the configuration from file and options, and runs the server in the
 * foreground. The signal handlers need a global to find the server; it is the only one. */
#include "cli/cli.h"

#include "base/time.h"
#include "server/server.h"
#include "sys/file.h"
#include "base/ban.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* The server that the signal handlers stop or reload. */
static server *_Atomic running;

static void on_end(int sig)
{
    (void)sig;
    server *s = running;
    if (s) server_stop(s);
}

static void on_hang_up(int sig)
{
    (void)sig;
    server *s = running;
    if (s) server_hang_up(s);
}

typedef struct serving {
    cli *c;
    logger log;
    arena texts; /* strings of the initial configuration */
} serving;

/* ---- configuration ---- */

/* Sets *out to $XDG_DATA_HOME/kiln/store or ~/.local/share/kiln/store. */
static bool default_store(arena *a, const char **out, err *e)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool own = data && data[0] == '/';
    if (!own && (!home || home[0] != '/'))
        return err_set(e, ERR_USAGE,
                       "neither XDG_DATA_HOME nor HOME is set; --store DIR is required");
    const char *base = own ? data : home, *tail = own ? "/kiln/store" : "/.local/share/kiln/store";
    size_t n = strlen(base) + strlen(tail) + 1;
    char *dir = arena_alloc(a, n);
    if (!dir) return err_memory(e);
    snprintf(dir, n, "%s%s", base, tail);
    *out = dir;
    return true;
}

static bool read_config(const char *path, arena *a, server_config *k, err *e)
{
    file_bytes b;
    if (!file_read(path, CONFIG_MAX_BYTES, &b, e)) return false;
    bool ok = config_read(b.bytes, a, k, e);
    file_release(&b);
    return ok;
}

static bool limit_parse(const char *text, bool (*parse)(str s, uint64_t *out), uint64_t *out)
{
    if (!strcmp(text, "none")) return *out = UINT64_MAX, true;
    return parse(str_of(text), out) && *out;
}

static void override_list(const option_list *from, config_list *to)
{
    if (from->n) to->n = 0;
    for (size_t i = 0; i < from->n && i < CONFIG_LISTENS; i++) to->v[to->n++] = from->v[i];
}

/* Applies the options, which take precedence over the file. */
static bool override(const cli_options *o, server_config *k, err *e)
{
    override_list(&o->listen, &k->listen);
    override_list(&o->hosts, &k->hosts);
    if (o->store_dir) k->store = o->store_dir;
    if (o->max_store && !limit_parse(o->max_store, size_parse, &k->max_bytes))
        return err_set(e, ERR_USAGE, "--max-store must be a size such as 10GiB, or none, not `%s`",
                       o->max_store);
    if (o->max_age && !limit_parse(o->max_age, duration_parse, &k->max_age))
        return err_set(e, ERR_USAGE,
                       "--max-age must be a time such as 7d or 12h, or none, not `%s`", o->max_age);
    if (o->cert) k->tls.cert = o->cert, k->tls.key = NULL;
    if (o->key) k->tls.key = o->key;
    if (o->write_tokens) k->write_tokens = o->write_tokens;
    if (o->read_tokens) k->read_tokens = o->read_tokens;
    if (o->insecure) k->insecure = true;
    if (o->forward) k->forward.to = o->forward;
    if (o->log_format) k->log_format = o->log_format;
    return true;
}

/* Builds the configuration. On failure, *path is the file that has the error, or NULL. */
static bool configure(const cli_options *o, arena *a, server_config *k, const char **path, err *e)
{
    *k = (server_config){0};
    *path = o->config;
    if (o->config && !read_config(o->config, a, k, e)) return false;
    *path = NULL;
    return override(o, k, e) && (k->store || default_store(a, &k->store, e));
}

/* ---- SIGHUP ---- */

static void reload(void *ctx, server *s)
{
    serving *v = ctx;
    server_config k;
    err e = {0};
    arena next = {0};
    char text[512], message[600];
    const char *path;
    if (!configure(&v->c->o, &next, &k, &path, &e)) {
        snprintf(message, sizeof message, "the configuration was not changed: %s%s%s",
                 path ? path : "", path ? ": " : "", err_text(&e, text, sizeof text));
        log_write(&v->log, &(log_line){.event = LOG_RELOAD, .warning = true, .message = message});
    } else {
        (void)!server_reload(s, &k, &e); /* logs the result */
    }
    arena_free(&next);
}

/* ---- the command ---- */

static void catch_signal(int sig, void (*handler)(int sig))
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(sig, &a, NULL);
}

/* Logs where profiles are stored and for how long, so that users know about retention. */
static void log_start(serving *v, const server_config *k)
{
    char text[4400];
    buf age = {0}, size = {0};
    config_value(k, "store.max-age", &age), config_value(k, "store.max-size", &size);
    buf_putc(&age, 0), buf_putc(&size, 0);
    if (!age.failed && !size.failed) {
        bool ever = k->max_age == UINT64_MAX, all = k->max_bytes == UINT64_MAX;
        snprintf(text, sizeof text, "profiles are stored in %s %s%s%s%s", k->store,
                 ever ? "indefinitely" : "for ", ever ? "" : age.p, all ? "" : ", at most ",
                 all ? "" : size.p);
        log_write(&v->log, &(log_line){.event = LOG_START,
                                       .message = text,
                                       .fields = {{"store", k->store, 0},
                                                  {"max_age", age.p, 0},
                                                  {"max_size", size.p, 0},
                                                  {"version", KILN_VERSION, 0},
                                                  {"pid", NULL, (uint64_t)getpid()}}});
    }
    buf_free(&age), buf_free(&size);
}

static void run(serving *v, const server_config *k, err *e)
{
    server_hooks hooks = {&v->log, reload, v};
    catch_signal(SIGHUP, on_hang_up); /* an early SIGHUP must not end the server */
    server *s = server_open(k, &hooks, e);
    if (s) {
        log_start(v, k);
        running = s;
        catch_signal(SIGTERM, on_end);
        catch_signal(SIGINT, on_end);
        bool ok = server_run(s, e);
        (void)ok; /* *e has the failure */
        running = NULL;
    }
    server_close(s);
}

exit_code cmd_serve(cli *c)
{
    err e = {0};
    server_config k;
    log_format how = LOG_TEXT;
    const char *path;
    serving v = {.c = c, .log = {.fd = STDERR_FILENO, .world = world_system()}};
    if (configure(&c->o, &v.texts, &k, &path, &e) && server_check(&k, &e)) {
        if (log_format_parse(k.log_format, &how)) v.log.format = how;
        if (c->o.check_config)
            config_print(&k, &c->out);
        else
            run(&v, &k, &e);
    }
    if (e.code) cli_fail_err(c, path, &e);
    if (c->o.check_config && c->worst > EXIT_BAD_INPUT) c->worst = EXIT_BAD_INPUT;
    arena_free(&v.texts);
    return c->worst;
}
