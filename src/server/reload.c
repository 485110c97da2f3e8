/* Changes the configuration of a running server.  Opens everything new before it releases anything
 * old, so that a failed reload changes nothing. */
#include "server/internal.h"

#include "debuginfod/debuginfod.h"
#include "base/ban.h"
#include <time.h>

bool server_check(const server_config *c, err *e)
{
    tls_context *t = NULL;
    log_format f;
    if (!config_check(c, e) || !forward_check(&c->forward, e)) return false;
    if (!log_format_parse(c->log_format, &f))
        return err_set(e, ERR_USAGE, "log-format must be text, json or logfmt, not `%s`",
                       c->log_format);
    guard *g = guard_open(c->write_tokens, c->read_tokens, e);
    bool ok = g && (!c->tls.cert || (t = tls_context_open(true, &c->tls, SERVER_ALPN, e)));
    tls_context_close(t);
    guard_close(g);
    return ok;
}

/* Returns whether TLS or client certificates are switched on or off, which listeners cannot
 * change. */
static bool turns_tls(const server_config *now, const server_config *next)
{
    return !now->tls.cert != !next->tls.cert || !now->tls.ca != !next->tls.ca;
}

/* Restores settings that cannot change at run time and lists their keys. */
static void hold_fixed(const server_config *now, server_config *next, buf *fixed)
{
    size_t n;
    const config_key *keys = config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        const config_key *k = &keys[i];
        bool of_tls = !strncmp(k->name, "tls.", 4);
        if (k->live && !(of_tls && turns_tls(now, next))) continue;
        if (!config_same(k, now, next)) buf_printf(fixed, "%s%s", fixed->n ? ", " : "", k->name);
    }
    for (size_t i = 0; i < n; i++)
        if (!keys[i].live)
            memcpy((char *)next + keys[i].at, (const char *)now + keys[i].at, keys[i].width);
    if (turns_tls(now, next)) next->tls = now->tls;
}

static bool own_text(const char **text, size_t n, arena *a, err *e)
{
    char *copy = arena_alloc(a, n + 1);
    if (!copy) return err_memory(e);
    memcpy(copy, *text, n);
    copy[n] = '\0';
    *text = copy;
    return true;
}

static bool own_list(config_list *l, arena *a, err *e)
{
    for (size_t i = 0; i < l->n; i++)
        if (!own_text(&l->v[i].p, l->v[i].n, a, e)) return false;
    return true;
}

/* Copies the texts of live settings into an arena that lives until the next reload. */
static bool own_texts(server_config *c, arena *a, err *e)
{
    size_t n;
    const config_key *keys = config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        void *at = (char *)c + keys[i].at;
        const char **text = at;
        bool is_text = keys[i].kind == KEY_TEXT || keys[i].kind == KEY_CHOICE;
        if (!keys[i].live) continue;
        if (is_text && *text && !own_text(text, strlen(*text), a, e)) return false;
        if (keys[i].kind == KEY_LIST && !own_list(at, a, e)) return false;
    }
    return true;
}

static void apply(server *s, server_config *c, arena *texts, guard *g, tls_context *t,
                  debuginfod *d)
{
    log_format f;
    server_fit_descriptors(&c->http);
    guard_close(s->guard);
    s->guard = g;
    if (t) {
        http_server_tls(s->http, t);
        tls_context_close(s->tls);
        s->tls = t;
    }
    api_source_use(s->source, d);
    http_server_limits(s->http, &c->http);
    ingest_limits(s->ingest, &c->ingest);
    store_retain(s->store, c->max_age, c->max_bytes);
    if (log_format_parse(c->log_format, &f)) atomic_store(&s->log->format, f);
    s->c = *c;
    arena_free(&s->texts);
    s->texts = *texts;
    server_log_revoked(s);
    server_log_certificate(s);
}

/* Returns whether the new configuration would remove the token requirement of a server that other
 * hosts can reach. A typing error must not do that. */
static bool opens(const server *s, const server_config *next, err *e)
{
    bool write = s->c.write_tokens && !next->write_tokens,
         read = s->c.read_tokens && !next->read_tokens;
    if (!s->exposed || (!write && !read)) return false;
    (void)err_set(
        e, ERR_USAGE,
        "this server is reachable from other hosts, and without %s anyone may %s: to revoke "
        "tokens, empty their file; to remove the requirement, restart the server",
        write ? "tokens.write" : "tokens.read",
        write && read ? "send and query"
        : write       ? "send"
                      : "query");
    return true;
}

static bool reload(server *s, const server_config *wanted, buf *fixed, err *e)
{
    server_config c = *wanted;
    tls_context *t = NULL;
    guard *g = NULL;
    debuginfod *d = NULL;
    arena texts = {0};
    if (!server_check(wanted, e)) return false;
    hold_fixed(&s->c, &c, fixed);
    if (opens(s, &c, e)) return false;
    bool ok = own_texts(&c, &texts, e) && (g = guard_open(c.write_tokens, c.read_tokens, e)) &&
              (!s->tls || (t = tls_context_open(true, &c.tls, SERVER_ALPN, e))) &&
              server_open_debuginfod(&c, &d, e);
    if (ok) {
        apply(s, &c, &texts, g, t, d);
        return true;
    }
    guard_close(g);
    tls_context_close(t);
    arena_free(&texts);
    return false;
}

bool server_reload(server *s, const server_config *next, err *e)
{
    buf fixed = {.limit = 400};
    struct timespec t;
    char text[400];
    clock_gettime(CLOCK_MONOTONIC, &t);
    notify_send(&s->notify, "RELOADING=1\nMONOTONIC_USEC=%lld",
                (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    bool ok = reload(s, next, &fixed, e);
    if (!ok)
        server_log(s, LOG_RELOAD, true, "the configuration was not changed: %s",
                   err_text(e, text, sizeof text));
    else if (fixed.n)
        server_log(s, LOG_RELOAD, true,
                   "the configuration was reloaded; these keys require a restart: %.*s",
                   (int)fixed.n, fixed.p);
    else
        server_log(s, LOG_RELOAD, false, "the configuration was reloaded");
    notify_send(&s->notify, "READY=1");
    buf_free(&fixed);
    return ok;
}
