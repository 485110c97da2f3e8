/* `kiln serve`: the daemon in the foreground. */
#include "cli/cli.h"

#include "base/when.h"
#include "server/server.h"
#include "base/ban.h"
#include <signal.h>
#include <stdlib.h>

/* The handler has no other way to know it. */
static server *_Atomic running;

static void on_signal(int sig)
{
    (void)sig;
    server *s = running;
    if (s) server_stop(s);
}

static void on_say(void *who, bool trouble, const char *sentence)
{
    (void)trouble;
    cli_note(who, "%s", sentence);
}

/* $XDG_DATA_HOME/kiln/store, or ~/.local/share/kiln/store. */
static bool usual_store(char *out, size_t n, err *e)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/')
        snprintf(out, n, "%s/kiln/store", data);
    else if (home && home[0] == '/')
        snprintf(out, n, "%s/.local/share/kiln/store", home);
    else
        return err_set(e, ERR_USAGE, "neither XDG_DATA_HOME nor HOME is set: say --store DIR");
    return true;
}

static bool configure(cli *c, server_config *k, char *dir, size_t n, err *e)
{
    const cli_options *o = &c->o;
    for (size_t i = 0; i < o->listen.n && i < CONFIG_LISTENS; i++)
        k->listen[k->n_listen++] = o->listen.v[i];
    k->store = o->store_dir;
    if (!k->store && !usual_store(dir, n, e)) return false;
    if (!k->store) k->store = dir;
    k->max_bytes = o->max_store;
    if (o->max_age && !duration_parse(str_of(o->max_age), &k->max_age))
        return err_set(e, ERR_USAGE, "--max-age wants a time such as 7d or 12h, not `%s`",
                       o->max_age);
    k->tls = (tls_files){.cert = o->cert, .key = o->key};
    k->write_tokens = o->write_tokens, k->read_tokens = o->read_tokens;
    k->insecure = o->insecure;
    return true;
}

static void greet(cli *c, const server *s, const server_config *k)
{
    cli_note(c, "profiles are kept in %s", k->store);
    for (size_t i = 0; server_address(s, i); i++)
        cli_note(c, "listening on http%s://%s", k->tls.cert ? "s" : "", server_address(s, i));
}

exit_code cmd_serve(cli *c)
{
    err e = {0};
    char dir[4096];
    server_config k = {0};
    server *s = NULL;
    server_voice voice = {on_say, c};
    if (configure(c, &k, dir, sizeof dir, &e) && (s = server_open(&k, &voice, &e))) {
        running = s;
        struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigaction(SIGTERM, &a, NULL);
        sigaction(SIGINT, &a, NULL);
        greet(c, s, &k);
        bool ok = server_run(s, &e);
        (void)ok; /* e says it */
        running = NULL;
    }
    server_close(s);
    if (e.code) cli_fail_err(c, NULL, &e);
    return c->worst;
}
