#include "server/server.h"

#include "net/listen.h"
#include "server/api.h"
#include "base/ban.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 2, JOBS = 64, ADDRESS = 72 };
#define DRAIN_NS (10 * NS_PER_S)

struct server {
    server_config c;
    server_voice voice;
    loop *loop;
    store *store;
    pool *pool;
    ingest *ingest;
    api *api;
    http_server *http;
    tls_context *tls;
    char addresses[CONFIG_LISTENS][ADDRESS];
    size_t n_addresses;
    atomic_bool stopping;
    uint64_t drain_until; /* 0: not draining */
};

/* ---- requests ---- */

static void not_found(http_exchange *x)
{
    buf b = {0};
    http_header head[] = {{STR("content-type"), STR("text/plain")}};
    buf_z(&b, "nothing here\n");
    http_answer(x, &(http_response){.status = 404, .head = head, .n_head = 1, .body = &b});
}

static void on_request(void *who, http_exchange *x)
{
    server *s = who;
    receive_route r;
    if (receive_route_of(http_exchange_message(x), &r))
        ingest_request(s->ingest, x, &r);
    else if (api_has(http_exchange_message(x)))
        api_request(s->api, x);
    else
        not_found(x);
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
    ingest_settle(s->ingest);
}

/* ---- opening ---- */

static void on_store_says(void *who, bool trouble, const char *sentence)
{
    server *s = who;
    s->voice.say(s->voice.who, trouble, sentence);
}

static bool open_tls(server *s, err *e)
{
    if (!s->c.tls.cert) return true;
    s->tls = tls_context_open(true, &s->c.tls, "h2 http/1.1", e);
    return s->tls != NULL;
}

static bool listen_on(server *s, str address, err *e)
{
    int fd = net_listen(address, e);
    if (fd < 0) return false;
    if (!net_is_loopback(fd) && !s->tls && !s->c.insecure) {
        close(fd);
        return err_set(e, ERR_USAGE,
                       "%.*s can be reached by other machines: give a certificate (--tls-cert) or "
                       "say --insecure",
                       STR_ARG(address));
    }
    net_local_text(fd, s->addresses[s->n_addresses++], ADDRESS);
    return http_server_listen(s->http, fd, s->tls, true, e);
}

static bool listen_all(server *s, err *e)
{
    static const char *const usual[] = SERVER_LISTEN;
    for (size_t i = 0; i < s->c.n_listen; i++)
        if (!listen_on(s, s->c.listen[i], e)) return false;
    for (size_t i = 0; !s->c.n_listen && i < ARRAY_LEN(usual); i++)
        if (!listen_on(s, str_of(usual[i]), e)) return false;
    return true;
}

static bool open_all(server *s, err *e)
{
    store_opts so = {
        .max_age = s->c.max_age, .max_bytes = s->c.max_bytes, .say = on_store_says, .who = s};
    http_server_events ev = {.request = on_request, .gone = on_gone, .who = s};
    return (s->loop = loop_open(world_system(), on_knock, s, e)) &&
           (s->store = store_open(s->c.store, &so, e)) &&
           (s->pool = pool_open(s->loop, WORKERS, JOBS, e)) &&
           (s->ingest = ingest_open(s->loop, s->store, s->pool, &s->c.ingest, e)) &&
           (s->api = api_open(s->loop, s->pool, &(api_opts){.store = s->c.store}, e)) &&
           open_tls(s, e) && (s->http = http_server_open(s->loop, &s->c.http, &ev, e)) &&
           listen_all(s, e);
}

server *server_open(const server_config *c, const server_voice *v, err *e)
{
    server *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    s->c = *c, s->voice = *v;
    if (open_all(s, e)) return s;
    server_close(s);
    return NULL;
}

/* What is under way is answered before its parts go: first no new requests, then the store's last group, then the rest. */
void server_close(server *s)
{
    if (!s) return;
    pool_close(s->pool);
    store_close(s->store);
    api_close(s->api);
    if (s->ingest) ingest_settle(s->ingest);
    http_server_close(s->http);
    ingest_close(s->ingest);
    tls_context_close(s->tls);
    loop_close(s->loop);
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

static bool drained(server *s)
{
    if (!s->drain_until) {
        s->drain_until = loop_now(s->loop) + DRAIN_NS;
        http_server_drain(s->http);
    }
    return http_server_idle(s->http) || loop_now(s->loop) > s->drain_until;
}

bool server_run(server *s, err *e)
{
    (void)e;
    while (!atomic_load(&s->stopping) || !drained(s)) loop_once(s->loop, NS_PER_S);
    return true;
}
