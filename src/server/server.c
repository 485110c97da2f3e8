/* Opens, runs and closes the parts of the daemon: loop, store, pools, HTTP server, forwarding. */
#include "server/internal.h"

#include "debuginfod/debuginfod.h"
#include "net/listen.h"
#include "store/saved.h"
#include "base/ban.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORKERS = 2, JOBS = 64, QUERIES = 512, FIRST_INHERITED = 3, OWN_DESCRIPTORS = 256 };
#define DRAIN_NS (10 * NS_PER_S)
#define CHECK_NS (2 * NS_PER_S)
#define FORWARD_NS (5 * NS_PER_S) /* time to forward the last requests */

/* ---- the loop ---- */

static void on_wake(void *ctx)
{
    server *s = ctx;
    pool_reap(s->pool);
    pool_reap(s->query_pool);
    api_source_reap(s->source);
    ingest_settle(s->ingest);
}

/* ---- opening ---- */

static void on_check(void *ctx)
{
    server *s = ctx;
    err e = {0};
    char text[400];
    if (guard_refresh(s->guard, &e)) {
        server_log(s, LOG_TOKENS, false, "the tokens were reloaded");
        server_log_revoked(s);
    }
    if (e.code && !s->warned)
        server_log(s, LOG_TOKENS, true, "%s; the previous tokens remain valid",
                   err_text(&e, text, sizeof text));
    s->warned = e.code != ERR_OK;
    if (loop_now(s->loop) >= s->certificate_at) server_log_certificate(s);
    loop_arm(s->loop, &s->check, loop_now(s->loop) + CHECK_NS);
}

static void on_watchdog(void *ctx)
{
    server *s = ctx;
    notify_send(&s->notify, "WATCHDOG=1");
    loop_arm(s->loop, &s->watchdog, loop_now(s->loop) + s->notify.watchdog_ns / 2);
}

/* Called in any thread of the store. */
static void on_store_event(void *ctx, store_event what, const char *message)
{
    server *s = ctx;
    log_event ev = what == STORE_REMOVED      ? LOG_RETENTION
                   : what == STORE_QUARANTINE ? LOG_QUARANTINE
                                              : LOG_STORE;
    server_log(s, ev, what != STORE_REMOVED, "%s", message);
}

static bool open_tls(server *s, err *e)
{
    if (!s->c.tls.cert) return true;
    s->tls = tls_context_open(true, &s->c.tls, SERVER_ALPN, e);
    return s->tls != NULL;
}

static bool open_forward(server *s, err *e)
{
    if (!s->c.forward.to) return store_unfollow(s->store), true;
    s->forward = forward_open(&s->c.forward, s->store, s->log, e);
    return s->forward != NULL;
}

/* Takes ownership of the socket.  `what`: the address for messages. */
static bool listen_with(server *s, int fd, const char *what, err *e)
{
    int listens = 0;
    socklen_t n = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) != 0 || !listens)
        return err_set(e, ERR_USAGE, "LISTEN_FDS: descriptor %d is not a listening socket", fd);
    bool exposed = !net_is_loopback(fd);
    if (exposed && !server_may_be_exposed(&s->c)) {
        close(fd);
        return err_set(
            e, ERR_USAGE,
            "%s is reachable from other hosts: without TLS (--cert) both write and read tokens "
            "are required (--write-tokens, --read-tokens), unless --insecure is given",
            what);
    }
    s->exposed |= exposed;
    if (s->n_addresses < SERVER_ADDRESSES)
        net_local_text(fd, s->addresses[s->n_addresses++], SERVER_ADDRESS);
    /* With client certificates, all addresses require TLS; with a server certificate alone, only
     * addresses that other hosts can reach. */
    bool plain = !s->c.tls.ca && (!exposed || s->c.insecure || !s->tls);
    return http_server_listen(s->http, fd, s->tls, plain, e);
}

static bool listen_on(server *s, str address, err *e)
{
    char text[256];
    int fd = net_listen(address, e);
    if (fd < 0 && e->sys == EADDRINUSE) {
        *e = (err){0};
        err_set(e, ERR_SYS,
                "another program listens on %.*s: stop it, or choose another address with --listen",
                STR_ARG(address));
    }
    snprintf(text, sizeof text, "%.*s", STR_ARG(address));
    return fd >= 0 && listen_with(s, fd, text, e);
}

/* Listens on sockets from systemd and configured addresses; if there are none, on the default
 * addresses. */
static bool listen_all(server *s, err *e)
{
    static const char *const usual[] = SERVER_LISTEN;
    int n = net_listen_inherited(getenv("LISTEN_PID"), getenv("LISTEN_FDS"));
    for (int i = 0; i < n; i++)
        if (!listen_with(s, FIRST_INHERITED + i, "a socket from systemd", e)) return false;
    for (size_t i = 0; i < s->c.listen.n; i++)
        if (!listen_on(s, s->c.listen.v[i], e)) return false;
    for (size_t i = 0; !n && !s->c.listen.n && i < ARRAY_LEN(usual); i++)
        if (!listen_on(s, str_of(usual[i]), e)) return false;
    return true;
}

void server_fit_descriptors(http_limits *o)
{
    struct rlimit r;
    rlim_t want = o->connections ? o->connections : HTTP_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0) return;
    if (r.rlim_cur < want + OWN_DESCRIPTORS) {
        r.rlim_cur = r.rlim_max < want + OWN_DESCRIPTORS ? r.rlim_max : want + OWN_DESCRIPTORS;
        if (setrlimit(RLIMIT_NOFILE, &r) != 0 || getrlimit(RLIMIT_NOFILE, &r) != 0) return;
    }
    if (r.rlim_cur >= want + OWN_DESCRIPTORS) return;
    rlim_t own = r.rlim_cur / 2 < OWN_DESCRIPTORS ? r.rlim_cur / 2 : OWN_DESCRIPTORS;
    o->connections = (uint32_t)(r.rlim_cur - own);
}

static ingest *open_ingest(server *s, err *e)
{
    ingest_callbacks callbacks = {.forward = s->forward,
                                  .refused = server_on_refused,
                                  .rejected = server_on_rejected,
                                  .ctx = s};
    return ingest_open(s->loop, s->store, s->pool, &s->c.ingest, &callbacks, e);
}

static uint64_t count_acknowledged(void *ctx)
{
    const server *s = ctx;
    return ingest_count(s->ingest).taken;
}

static api *open_api(server *s, err *e)
{
    bool damaged;
    if (!(s->settings = saved_open(s->c.store, "settings", &damaged, e))) return NULL;
    if (damaged)
        server_log(s, LOG_STORE, true,
                   "the settings of Pyroscope's clients are damaged: the file was renamed to "
                   "settings.corrupt, and a new one begins");
    api_opts o = {.store = s->store,
                  .dir = s->c.store,
                  .settings = s->settings,
                  .refused = server_on_refused,
                  .acknowledged = count_acknowledged,
                  .say = on_store_event,
                  .ctx = s};
    return api_open(s->loop, s->query_pool, &o, e);
}

static bool open_saved(server *s, err *e)
{
    bool damaged;
    s->saved = api_saved_open(s->loop, s->query_pool, s->c.store, &damaged, e);
    if (s->saved && damaged)
        server_log(s, LOG_STORE, true,
                   "the list of saved selections is damaged: it was renamed to saved.corrupt, and "
                   "a new list begins");
    return s->saved != NULL;
}

bool server_open_debuginfod(const server_config *c, debuginfod **out, err *e)
{
    *out = NULL;
    return !c->source_debuginfod || (*out = debuginfod_open(str_of(c->source_debuginfod), e));
}

static bool open_source(server *s, err *e)
{
    debuginfod *d;
    if (!server_open_debuginfod(&s->c, &d, e)) return false;
    if (!(s->source = api_source_open(s->loop, e))) return debuginfod_close(d), false;
    api_source_use(s->source, d);
    return true;
}

static bool open_all(server *s, err *e)
{
    server_fit_descriptors(&s->c.http);
    store_opts so = {.max_age = s->c.max_age,
                     .max_bytes = s->c.max_bytes,
                     .compact_bytes = s->c.max_raw,
                     .compact_age = s->c.max_raw_age,
                     .min_age = s->c.min_age,
                     .max_backlog = s->c.max_backlog,
                     .drop_at_once = s->c.drop_at_once,
                     .log = on_store_event,
                     .ctx = s};
    http_server_events ev = server_requests(s);
    return (s->loop = loop_open(world_system(), on_wake, s, e)) &&
           (s->store = store_open(s->c.store, &so, e)) &&
           (s->pool = pool_open(s->loop, WORKERS, JOBS, e)) &&
           (s->query_pool = pool_open(s->loop, WORKERS, QUERIES, e)) && open_forward(s, e) &&
           (s->ingest = open_ingest(s, e)) && (s->api = open_api(s, e)) && open_saved(s, e) &&
           open_source(s, e) && open_tls(s, e) &&
           (s->guard = guard_open(s->c.write_tokens, s->c.read_tokens, e)) &&
           (s->http = http_server_open(s->loop, &s->c.http, &ev, e)) && listen_all(s, e);
}

server *server_open(const server_config *c, const server_hooks *h, err *e)
{
    server *s = calloc(1, sizeof *s);
    if (!s) return err_memory(e), NULL;
    s->c = *c, s->hooks = *h, s->log = h->log;
    s->notify = notify_open(getenv);
    s->check = (loop_timer){.due = on_check, .ctx = s};
    s->watchdog = (loop_timer){.due = on_watchdog, .ctx = s};
    s->started = world_system()->wall(world_system()->ctx);
    if (open_all(s, e)) return s;
    server_close(s);
    return NULL;
}

/* The order matters: first no new jobs start, then the store writes its last group and responses
 * are sent, then the rest is closed. */
void server_close(server *s)
{
    if (!s) return;
    if (s->loop) loop_disarm(s->loop, &s->check), loop_disarm(s->loop, &s->watchdog);
    api_end(s->api);
    pool_close(s->pool);
    pool_close(s->query_pool);
    api_source_end(s->source);
    if (s->forward)
        (void)store_commit(s->store, NULL); /* so that the last items can be forwarded */
    forward_stop(s->forward, FORWARD_NS);
    store_close(s->store);
    api_close(s->api);
    api_saved_close(s->saved);
    saved_close(s->settings);
    if (s->ingest) ingest_settle(s->ingest);
    http_server_close(s->http);
    api_source_close(s->source);
    ingest_close(s->ingest);
    forward_close(s->forward);
    guard_close(s->guard);
    tls_context_close(s->tls);
    loop_close(s->loop);
    arena_free(&s->texts);
    free(s);
}

const char *server_address(const server *s, size_t i)
{
    return i < s->n_addresses ? s->addresses[i] : NULL;
}

/* ---- running ---- */

void server_stop(server *s)
{
    atomic_store(&s->stopping, true);
    loop_wake(s->loop);
}

void server_hang_up(server *s)
{
    atomic_store(&s->hung_up, true);
    loop_wake(s->loop);
}

static bool drained(server *s)
{
    if (!s->drain_until) {
        s->drain_until = loop_now(s->loop) + DRAIN_NS;
        uint64_t open = http_server_count(s->http).exchanges;
        notify_send(&s->notify, "STOPPING=1\nSTATUS=finishing open requests");
        log_write(
            s->log,
            &(log_line){.event = LOG_DRAIN,
                        .message = "shutting down: no new connections; open requests are finished",
                        .fields = {{"requests", NULL, open}}});
        http_server_drain(s->http);
    }
    return http_server_idle(s->http) || loop_now(s->loop) > s->drain_until;
}

bool server_run(server *s, err *e)
{
    (void)e;
    loop_arm(s->loop, &s->check, loop_now(s->loop) + CHECK_NS);
    if (s->notify.watchdog_ns) on_watchdog(s);
    server_log_start(s);
    while (!atomic_load(&s->stopping) || !drained(s)) {
        loop_once(s->loop, NS_PER_S);
        if (atomic_exchange(&s->hung_up, false) && s->hooks.hang_up)
            s->hooks.hang_up(s->hooks.ctx, s);
    }
    server_log_stop(s);
    return true;
}
