/* Requests: who may come in, and who answers. */
#include "server/internal.h"

#include "server/facts.h"
#include "server/health.h"
#include "server/origin.h"
#include "server/page.h"
#include "base/ban.h"

enum { ASKED_BODY = 64 << 10 };

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
                   .api = s->api,
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
    return str_eq(path, STR("/healthz")) || str_eq(path, STR("/readyz")) || health_is_check(path);
}

static right right_of(const http_message *m)
{
    receive_route r;
    return receive_route_of(m, &r) ? RIGHT_WRITE : RIGHT_READ;
}

static guard_verdict ask_guard(const server *s, const http_message *m)
{
    if (is_probe(m->path) || page_has(m->path)) return GUARD_OPEN;
    return guard_ask(s->guard, right_of(m), m);
}

/* A page of somebody else has no token: where one is needed, that is enough. */
static origin_verdict ask_origin(const server *s, const http_message *m)
{
    if (is_probe(m->path) || guard_guards(s->guard, right_of(m))) return ORIGIN_OURS;
    return origin_ask(m, s->c.hosts.v, s->c.hosts.n);
}

/* Before the body: who may not send has none read, and questions need none. */
static void on_admit(void *who, http_message *m)
{
    server *s = who;
    if (ask_origin(s, m) != ORIGIN_OURS || ask_guard(s, m) != GUARD_OPEN)
        m->trouble = HTTP_UNWANTED;
    if (right_of(m) == RIGHT_READ) m->body.limit = ASKED_BODY;
}

/* A question is refused in words alone. */
static void turn_away(server *s, http_exchange *x, verdict v, const char *why)
{
    receive_route r;
    if (receive_route_of(http_exchange_message(x), &r))
        ingest_refuse(s->ingest, x, &r, v, why);
    else
        api_refuse(s->api, x, v, why);
}

static void turn_away_unknown(server *s, http_exchange *x, guard_verdict v)
{
    turn_away(s, x, VERDICT_UNAUTHENTICATED,
              v == GUARD_NO_TOKEN ? "a token is needed: Authorization: Bearer TOKEN"
                                  : "this token is not known");
}

enum { SHOWN = 48 };

/* Visible characters of ASCII, and not many: it goes into a log. */
static const char *shown(str s, char out[SHOWN])
{
    snprintf(out, SHOWN, "%.*s", (int)(s.n < SHOWN ? s.n : SHOWN), s.n ? s.p : "");
    for (char *c = out; *c; c++)
        if (*c <= ' ' || *c > '~') *c = '?';
    return out;
}

static void turn_away_foreign(server *s, http_exchange *x, origin_verdict v)
{
    const http_message *m = http_exchange_message(x);
    char why[192], name[SHOWN];
    if (v == ORIGIN_HOST)
        snprintf(why, sizeof why,
                 "%s is not a name of this server: use its address, or have its operator add the "
                 "name to `hosts`",
                 shown(m->authority, name));
    else
        snprintf(why, sizeof why,
                 "pages of %s may not use this server, unless its operator adds them to `hosts`",
                 shown(http_headers_get(&m->head, "origin"), name));
    turn_away(s, x, VERDICT_FOREIGN, why);
}

/* Its status comes in trailers, which HTTP/1.1 has no place for: 200 OK would be all that is heard. */
static bool refuse_grpc_over_http1(server *s, http_exchange *x)
{
    receive_route r;
    const char *why;
    const http_message *m = http_exchange_message(x);
    bool grpc = (receive_route_of(m, &r) || receive_is_unknown(m, &r, &why)) && r.grpc;
    if (!grpc || http_exchange_h2(x)) return false;
    r.grpc = false;
    ingest_refuse(s->ingest, x, &r, VERDICT_MEDIA, "gRPC needs HTTP/2");
    return true;
}

/* Nobody needs a token to learn that something is not here: a client that speaks gRPC understands nothing but its own status. */
static bool refuse_unknown(server *s, http_exchange *x)
{
    receive_route r;
    const char *why;
    if (!receive_is_unknown(http_exchange_message(x), &r, &why)) return false;
    ingest_refuse(s->ingest, x, &r, VERDICT_UNKNOWN, why);
    return true;
}

static void on_request(void *who, http_exchange *x)
{
    server *s = who;
    receive_route r;
    http_message *m = http_exchange_message(x);
    origin_verdict from = ask_origin(s, m);
    guard_verdict v = ask_guard(s, m);
    if (refuse_grpc_over_http1(s, x)) return;
    if (health_is_check(m->path) && http_exchange_h2(x)) {
        health_answer(x, is_ready(s));
        return;
    }
    if (refuse_unknown(s, x)) return;
    if (from != ORIGIN_OURS)
        turn_away_foreign(s, x, from);
    else if (v != GUARD_OPEN)
        turn_away_unknown(s, x, v);
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

static void on_ended(void *who, http_exchange *x)
{
    server *s = who;
    if (api_has(http_exchange_message(x))) api_ended(s->api, x);
}

static void on_cut(void *who, const char *peer)
{
    server_say(who, LOG_STORE, true,
               "a response to %s broke off: the file it waited in cannot be read", peer);
}

http_server_events server_requests(server *s)
{
    return (http_server_events){.admit = on_admit,
                                .request = on_request,
                                .gone = on_gone,
                                .ended = on_ended,
                                .who = s,
                                .cut = on_cut};
}

void server_on_refused(void *who, const char *peer, verdict v, const char *why)
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

void server_on_rejected(void *who, const char *peer, size_t n, const char *why)
{
    server *s = who;
    uint64_t unsaid;
    char text[RECEIVE_TEXT + 256];
    if (!refusals_note(&s->rejections, peer, loop_now(s->loop), &unsaid)) return;
    snprintf(text, sizeof text, "part of a request of %s was rejected: %s", peer, why);
    log_write(s->log, &(log_line){.event = LOG_REJECTED,
                                  .trouble = true,
                                  .sentence = text,
                                  .facts = {{"sender", peer, 0},
                                            {"rejected", NULL, n},
                                            {"reason", why, 0},
                                            {"unsaid", NULL, unsaid}}});
}
