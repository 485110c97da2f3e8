#include "server/internal.h"

#include "net/listen.h"
#include "server/facts.h"
#include "server/page.h"
#include "base/ban.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORKERS = 2, JOBS = 64, FIRST_INHERITED = 3, OWN_DESCRIPTORS = 256, ASKED_BODY = 64 << 10 };
#define DRAIN_NS (10 * NS_PER_S)
#define LOOK_NS (2 * NS_PER_S)
#define FORWARD_NS (5 * NS_PER_S) /* for the last of what is passed on */

/* ---- pages of our own ---- */

/* What a balancer asks before it sends somebody here. */
static bool is_ready(const server *s)
{
    return !atomic_load(&s->stopping) && store_takes(s->store);
}

static facts facts_of(const server *s)
{
    const world *w = loop_world(s->loop);
    return (facts){.ingest = s->ingest,
                   .http = s->http,
                   .pool = s->pool,
                   .asked = s->asked,
                   .store = s->store,
                   .forward = s->forward,
                   .store_dir = s->c.store,
                   .max_age = s->c.max_age ? s->c.max_age : STORE_MAX_AGE,
                   .max_bytes = s->c.max_bytes ? s->c.max_bytes : STORE_MAX_BYTES,
                   .started = s->started,
                   .now = w->wall(w->who),
                   .ready = is_ready(s)};
}

static void give(http_exchange *x, unsigned status, const char *type, buf *body)
{
    http_header head[] = {{STR("content-type"), str_of(type)},
                          {STR("cache-control"), STR("no-store")},
                          {STR("x-content-type-options"), STR("nosniff")}};
    http_answer(x, &(http_response){.status = status, .head = head, .n_head = 3, .body = body});
}

static void give_text(http_exchange *x, unsigned status, const char *text)
{
    buf b = {0};
    buf_z(&b, text);
    give(x, status, "text/plain; charset=utf-8", &b);
}

/* Alive is who answers; ready is who takes profiles. */
static void give_probe(const server *s, http_exchange *x, str path)
{
    if (str_eq(path, STR("/healthz")) || is_ready(s))
        give_text(x, 200, "ok\n");
    else
        give_text(x, 503,
                  atomic_load(&s->stopping) ? "ending: nobody new is let in\n"
                                            : "the disk is full or broken: new data is refused\n");
}

/* What needs the loop's own numbers.  false: none of these. */
static bool give_facts(server *s, http_exchange *x, str path)
{
    facts f = facts_of(s);
    buf b = {0};
    if (str_eq(path, STR("/metrics"))) {
        facts_metrics(&f, &b);
        give(x, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
    } else if (str_eq(path, STR("/api/v1/status"))) {
        facts_json(&f, &b);
        give(x, 200, "application/json", &b);
    } else {
        return false;
    }
    return true;
}

/* ---- requests ---- */

/* Anybody may ask whether we live, and have the page, which asks for a token; the rest takes the right to write or to ask. */
static bool is_probe(str path)
{
    return str_eq(path, STR("/healthz")) || str_eq(path, STR("/readyz"));
}

static guard_verdict ask_guard(const server *s, const http_message *m)
{
    receive_route r;
    if (is_probe(m->path) || page_has(m->path)) return GUARD_OPEN;
    return guard_ask(s->guard, receive_route_of(m, &r) ? RIGHT_WRITE : RIGHT_READ, m);
}

/* Before the body: who may not send has none read, and questions need none. */
static void on_admit(void *who, http_message *m)
{
    server *s = who;
    receive_route r;
    if (ask_guard(s, m) != GUARD_OPEN) m->trouble = HTTP_UNWANTED;
    if (!receive_route_of(m, &r)) m->body.limit = ASKED_BODY;
}

static void turn_away(server *s, http_exchange *x, guard_verdict v)
{
    receive_route r;
    const char *why = v == GUARD_NO_TOKEN ? "a token is needed: Authorization: Bearer TOKEN"
                                          : "this token is not known";
    if (receive_route_of(http_exchange_message(x), &r)) {
        ingest_refuse(s->ingest, x, &r, VERDICT_UNAUTHENTICATED, why);
        return;
    }
    buf b = {0};
    http_header head[] = {{STR("content-type"), STR("text/plain")},
                          {STR("www-authenticate"), STR("Bearer")}};
    buf_printf(&b, "%s\n", why);
    http_answer(x, &(http_response){.status = 401, .head = head, .n_head = 2, .body = &b});
}

/* Its status comes in trailers, which HTTP/1.1 has no place for: 200 OK would be all that is heard. */
static bool refuse_grpc_over_http1(server *s, http_exchange *x)
{
    receive_route r;
    bool grpc = receive_route_of(http_exchange_message(x), &r) && r.grpc;
    if (!grpc || http_exchange_h2(x)) return false;
    r.grpc = false;
    ingest_refuse(s->ingest, x, &r, VERDICT_MEDIA, "gRPC needs HTTP/2");
    return true;
}

static void on_request(void *who, http_exchange *x)
{
    server *s = who;
    receive_route r;
    http_message *m = http_exchange_message(x);
    guard_verdict v = ask_guard(s, m);
    if (refuse_grpc_over_http1(s, x)) return;
    if (v != GUARD_OPEN)
        turn_away(s, x, v);
    else if (receive_route_of(m, &r))
        ingest_request(s->ingest, x, &r);
    else if (is_probe(m->path))
        give_probe(s, x, m->path);
    else if (give_facts(s, x, m->path))
        return;
    else if (page_has(m->path))
        page_request(x);
    else if (api_has(m))
        api_request(s->api, x);
    else
        give_text(x, 404, "nothing here\n");
}

static void on_gone(void *who, http_exchange *x)
{
    server *s = who;
    if (api_has(http_exchange_message(x)))
        api_gone(s->api, x);
    else
        ingest_gone(s->ingest, x);
}

static void on_knock(void *who)
{
    server *s = who;
    pool_reap(s->pool);
    pool_reap(s->asked);
    ingest_settle(s->ingest);
}

/* ---- opening ---- */

static void on_look(void *who)
{
    server *s = who;
    err e = {0};
    char text[400];
    if (guard_refresh(s->guard, &e)) server_say(s, LOG_TOKENS, false, "tokens were read again");
    if (e.code && !s->complained)
        server_say(s, LOG_TOKENS, true, "%s", err_text(&e, text, sizeof text));
    s->complained = e.code != ERR_OK;
    loop_arm(s->loop, &s->look, loop_now(s->loop) + LOOK_NS);
}

static void on_watchdog(void *who)
{
    server *s = who;
    notify_say(&s->notify, "WATCHDOG=1");
    loop_arm(s->loop, &s->watchdog, loop_now(s->loop) + s->notify.watchdog_ns / 2);
}

/* In whatever thread of the store. */
static void on_store_says(void *who, store_said what, const char *sentence)
{
    server *s = who;
    log_event ev = what == STORE_REMOVED      ? LOG_RETENTION
                   : what == STORE_QUARANTINE ? LOG_QUARANTINE
                                              : LOG_STORE;
    server_say(s, ev, what != STORE_REMOVED, "%s", sentence);
}

static void on_refused(void *who, const char *peer, verdict v, const char *why)
{
    server *s = who;
    uint64_t unsaid;
    char text[512];
    (void)v;
    if (!refusals_note(&s->refusals, peer, loop_now(s->loop), &unsaid)) return;
    snprintf(text, sizeof text, "a request of %s was refused: %s", peer, why);
    log_write(
        s->log,
        &(log_line){.event = LOG_REFUSED,
                    .trouble = true,
                    .sentence = text,
                    .facts = {{"sender", peer, 0}, {"reason", why, 0}, {"unsaid", NULL, unsaid}}});
}

static bool open_tls(server *s, err *e)
{
    if (!s->c.tls.cert) return true;
    s->tls = tls_context_open(true, &s->c.tls, SERVER_ALPN, e);
    return s->tls != NULL;
}

static bool open_forward(server *s, err *e)
{
    if (!s->c.forward.to) return true;
    s->forward = forward_open(&s->c.forward, s->log, e);
    return s->forward != NULL;
}

/* Takes the socket over.  `what`: how it was asked for. */
static bool listen_with(server *s, int fd, const char *what, err *e)
{
    int listens = 0;
    socklen_t n = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) != 0 || !listens)
        return err_set(e, ERR_USAGE, "LISTEN_FDS: descriptor %d is no socket that listens", fd);
    bool exposed = !net_is_loopback(fd);
    if (exposed && !server_may_be_exposed(&s->c)) {
        close(fd);
        return err_set(
            e, ERR_USAGE,
            "%s can be reached by other machines: give a certificate (--cert), or tokens "
            "for those who send and those who ask (--write-tokens and --read-tokens), "
            "or say --insecure",
            what);
    }
    s->exposed |= exposed;
    if (s->n_addresses < SERVER_ADDRESSES)
        net_local_text(fd, s->addresses[s->n_addresses++], SERVER_ADDRESS);
    /* Who asks for certificates of clients means everybody; who has one of his own means the network. */
    bool plain = !s->c.tls.ca && (!exposed || s->c.insecure || !s->tls);
    return http_server_listen(s->http, fd, s->tls, plain, e);
}

static bool listen_on(server *s, str address, err *e)
{
    char text[256];
    int fd = net_listen(address, e);
    if (fd < 0 && e->sys == EADDRINUSE) {
        *e = (err){0};
        err_set(e, ERR_SYS, "another program listens on %.*s: end it, or say --listen for another",
                STR_ARG(address));
    }
    snprintf(text, sizeof text, "%.*s", STR_ARG(address));
    return fd >= 0 && listen_with(s, fd, text, e);
}

/* Sockets of systemd and those that were asked for; the usual ones when there are neither. */
static bool listen_all(server *s, err *e)
{
    static const char *const usual[] = SERVER_LISTEN;
    int n = net_listen_inherited(getenv("LISTEN_PID"), getenv("LISTEN_FDS"));
    for (int i = 0; i < n; i++)
        if (!listen_with(s, FIRST_INHERITED + i, "a socket of systemd", e)) return false;
    for (size_t i = 0; i < s->c.listen.n; i++)
        if (!listen_on(s, s->c.listen.v[i], e)) return false;
    for (size_t i = 0; !n && !s->c.listen.n && i < ARRAY_LEN(usual); i++)
        if (!listen_on(s, str_of(usual[i]), e)) return false;
    return true;
}

void server_fit(http_limits *o)
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
    ingest_ears ears = {.forward = s->forward, .refused = on_refused, .who = s};
    return ingest_open(s->loop, s->store, s->pool, &s->c.ingest, &ears, e);
}

static bool open_all(server *s, err *e)
{
    server_fit(&s->c.http);
    store_opts so = {.max_age = s->c.max_age,
                     .max_bytes = s->c.max_bytes,
                     .max_raw = s->c.max_raw,
                     .max_raw_age = s->c.max_raw_age,
                     .say = on_store_says,
                     .who = s};
    http_server_events ev = {.admit = on_admit, .request = on_request, .gone = on_gone, .who = s};
    return (s->loop = loop_open(world_system(), on_knock, s, e)) &&
           (s->store = store_open(s->c.store, &so, e)) &&
           (s->pool = pool_open(s->loop, WORKERS, JOBS, e)) &&
           (s->asked = pool_open(s->loop, WORKERS, JOBS, e)) && open_forward(s, e) &&
           (s->ingest = open_ingest(s, e)) &&
           (s->api = api_open(s->loop, s->asked, &(api_opts){.store = s->c.store}, e)) &&
           open_tls(s, e) && (s->guard = guard_open(s->c.write_tokens, s->c.read_tokens, e)) &&
           (s->http = http_server_open(s->loop, &s->c.http, &ev, e)) && listen_all(s, e);
}

server *server_open(const server_config *c, const server_hooks *h, err *e)
{
    server *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    s->c = *c, s->hooks = *h, s->log = h->log;
    s->notify = notify_open(getenv);
    s->look = (loop_timer){.due = on_look, .who = s};
    s->watchdog = (loop_timer){.due = on_watchdog, .who = s};
    s->started = world_system()->wall(world_system()->who);
    if (open_all(s, e)) return s;
    server_close(s);
    return NULL;
}

/* What is under way is answered before its parts go: first no new requests, then the store's last group, then the rest. */
void server_close(server *s)
{
    if (!s) return;
    if (s->loop) loop_disarm(s->loop, &s->look), loop_disarm(s->loop, &s->watchdog);
    pool_close(s->pool);
    pool_close(s->asked);
    store_close(s->store);
    api_close(s->api);
    if (s->ingest) ingest_settle(s->ingest);
    http_server_close(s->http);
    ingest_close(s->ingest);
    forward_close(s->forward, FORWARD_NS);
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
        notify_say(&s->notify, "STOPPING=1\nSTATUS=answering what is under way");
        log_write(
            s->log,
            &(log_line){.event = LOG_DRAIN,
                        .sentence = "ending: no new connections, what is under way is answered",
                        .facts = {{"requests", NULL, open}}});
        http_server_drain(s->http);
    }
    return http_server_idle(s->http) || loop_now(s->loop) > s->drain_until;
}

bool server_run(server *s, err *e)
{
    (void)e;
    loop_arm(s->loop, &s->look, loop_now(s->loop) + LOOK_NS);
    if (s->notify.watchdog_ns) on_watchdog(s);
    server_tell_start(s);
    while (!atomic_load(&s->stopping) || !drained(s)) {
        loop_once(s->loop, NS_PER_S);
        if (atomic_exchange(&s->hung_up, false) && s->hooks.hang_up)
            s->hooks.hang_up(s->hooks.who, s);
    }
    server_tell_stop(s);
    return true;
}
