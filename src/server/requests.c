/* Dispatches requests: checks origin and token, then calls ingest, the query API, the viewer or one
 * of the small pages (health, metrics, status) that live here. */
#include "server/internal.h"

#include "server/facts.h"
#include "server/health.h"
#include "server/origin.h"
#include "server/page.h"
#include "server/pyroscope.h"
#include "server/pyroscope_ingest.h"
#include "base/ban.h"

enum { QUERY_BODY = 64 << 10 }; /* also of a change of saved selections */

/* ---- health, metrics and status ---- */

/* Returns whether load balancers should send requests. */
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
                   .query_pool = s->query_pool,
                   .store = s->store,
                   .forward = s->forward,
                   .store_dir = s->c.store,
                   .source_link = s->c.source_link,
                   .source_trim = s->c.source_trim,
                   .source = s->source,
                   .max_age = s->c.max_age ? s->c.max_age : STORE_MAX_AGE,
                   .max_bytes = s->c.max_bytes ? s->c.max_bytes : STORE_MAX_BYTES,
                   .started = s->started,
                   .now = w->wall(w->ctx),
                   .ready = is_ready(s)};
}

static void send_body(http_exchange *x, unsigned status, const char *type, buf *body)
{
    http_header head[] = {{STR("content-type"), str_of(type)},
                          {STR("cache-control"), STR("no-store")},
                          {STR("x-content-type-options"), STR("nosniff")}};
    http_respond(x, &(http_response){.status = status, .head = head, .n_head = 3, .body = body});
}

static void send_text(http_exchange *x, unsigned status, const char *text)
{
    buf b = {0};
    buf_z(&b, text);
    send_body(x, status, "text/plain; charset=utf-8", &b);
}

/* Responds to /healthz (the process runs), /readyz (it accepts profiles), /ready (Pyroscope's name of
 * that) and to health checks of gRPC. */
static void send_probe(const server *s, http_exchange *x, str path)
{
    if (health_has(path))
        health_request(x, is_ready(s));
    else if (str_eq(path, STR("/healthz")) || is_ready(s))
        send_text(x, 200, str_eq(path, STR("/ready")) ? "ready\n" : "ok\n");
    else
        send_text(x, 503,
                  atomic_load(&s->stopping)
                      ? "shutting down: no new requests are accepted\n"
                      : "the disk is full or failing: new data is rejected\n");
}

/* Sends a page that needs the loop's counters. Returns false when the path is not one of these. */
static bool send_facts(server *s, http_exchange *x, str path)
{
    facts f = facts_of(s);
    buf b = {0};
    if (str_eq(path, STR("/metrics"))) {
        facts_metrics(&f, &b);
        send_body(x, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
    } else if (str_eq(path, STR("/api/v1/status"))) {
        facts_json(&f, &b);
        send_body(x, 200, "application/json", &b);
    } else {
        return false;
    }
    return true;
}

/* ---- requests ---- */

/* Probes and the viewer's files need no token; everything else requires the right to write or to
 * read. */
static bool is_probe(str path)
{
    return str_eq(path, STR("/healthz")) || str_eq(path, STR("/readyz")) ||
           str_eq(path, STR("/ready")) || health_has(path);
}

/* Finds the endpoint for senders. Returns false when the path is not one. */
static bool sender_route(const server *s, const http_message *m, receive_route *out)
{
    return (config_has_pyroscope(&s->c) && pyroscope_ingest_route(m, out)) ||
           receive_route_of(m, out);
}

static right right_of(const server *s, const http_message *m)
{
    receive_route r;
    return sender_route(s, m, &r) || api_saved_changes(m) || pyroscope_changes(m) ? RIGHT_WRITE
                                                                                  : RIGHT_READ;
}

/* Returns the requirement for changes of the saved selections (server/api_saved.h). */
static const char *changes_of(const server *s)
{
    if (!guard_has(s->guard, RIGHT_WRITE)) return "open";
    return guard_empty(s->guard, RIGHT_WRITE) ? "none" : "token";
}

static guard_verdict check_guard(const server *s, const http_message *m)
{
    if (is_probe(m->path) || page_has(m->path)) return GUARD_OPEN;
    return guard_check(s->guard, right_of(s, m), m);
}

/* Other web sites have no token, so a server that requires one needs no further check. */
static origin_verdict check_origin(const server *s, const http_message *m)
{
    if (is_probe(m->path) || guard_has(s->guard, right_of(s, m))) return ORIGIN_OURS;
    return origin_check(m, s->c.hosts.v, s->c.hosts.n);
}

/* Called before the body is read: rejected requests and queries may not have a large body. */
static void on_admit(void *ctx, http_message *m)
{
    server *s = ctx;
    if (check_origin(s, m) != ORIGIN_OURS || check_guard(s, m) != GUARD_OPEN)
        m->failure = HTTP_NO_BODY;
    if (pyroscope_has(m))
        m->body.limit = pyroscope_max_body(m);
    else if (right_of(s, m) == RIGHT_READ || api_saved_has(m))
        m->body.limit = QUERY_BODY;
}

/* Rejects a request in the format that its client expects. */
static void reject(server *s, http_exchange *x, verdict v, const char *why)
{
    receive_route r;
    if (sender_route(s, http_exchange_message(x), &r))
        ingest_refuse(s->ingest, x, &r, v, why);
    else
        api_refuse(s->api, x, v, why);
}

static void reject_token(server *s, http_exchange *x, guard_verdict v)
{
    reject(s, x, VERDICT_UNAUTHENTICATED,
           v == GUARD_NO_TOKEN ? "a token is required: Authorization: Bearer TOKEN, or Basic with "
                                 "the token as password"
                               : "unknown token");
}

enum { SHOWN = 48 };

/* Returns a short excerpt in visible ASCII for the log. */
static const char *shown(str s, char out[SHOWN])
{
    snprintf(out, SHOWN, "%.*s", (int)(s.n < SHOWN ? s.n : SHOWN), s.n ? s.p : "");
    for (char *c = out; *c; c++)
        if (*c <= ' ' || *c > '~') *c = '?';
    return out;
}

static void reject_foreign(server *s, http_exchange *x, origin_verdict v)
{
    const http_message *m = http_exchange_message(x);
    char why[192], name[SHOWN];
    if (v == ORIGIN_HOST)
        snprintf(
            why, sizeof why,
            "%s is not a name of this server: use its IP address, or ask its operator to add the "
            "name to `hosts`",
            shown(m->authority, name));
    else
        snprintf(
            why, sizeof why,
            "web pages of %s may not access this server unless its operator adds them to `hosts`",
            shown(http_headers_get(&m->head, "origin"), name));
    reject(s, x, VERDICT_CROSS_SITE, why);
}

/* Rejects gRPC over HTTP/1.1: its status is in trailers, so clients would see only 200 OK. */
static bool refuse_grpc_over_http1(server *s, http_exchange *x)
{
    receive_route r;
    const char *why;
    const http_message *m = http_exchange_message(x);
    bool grpc = (sender_route(s, m, &r) || receive_is_unknown(m, &r, &why)) && r.grpc;
    if (!grpc || http_exchange_h2(x)) return false;
    r.grpc = false;
    ingest_refuse(s->ingest, x, &r, VERDICT_MEDIA, "gRPC requires HTTP/2");
    return true;
}

/* Rejects unknown gRPC methods without a token check, because a gRPC client understands only a gRPC
 * status. */
static bool refuse_unknown(server *s, http_exchange *x)
{
    receive_route r;
    const char *why;
    const http_message *m = http_exchange_message(x);
    if (sender_route(s, m, &r) || !receive_is_unknown(m, &r, &why)) return false;
    ingest_refuse(s->ingest, x, &r, VERDICT_UNKNOWN, why);
    return true;
}

static void on_request(void *ctx, http_exchange *x)
{
    server *s = ctx;
    receive_route r;
    http_message *m = http_exchange_message(x);
    origin_verdict from = check_origin(s, m);
    guard_verdict v = check_guard(s, m);
    bool is_call = pyroscope_has(m) && config_has_pyroscope(&s->c);
    bool has_errors = is_call || health_has(m->path); /* of gRPC */
    if (!has_errors && (refuse_grpc_over_http1(s, x) || refuse_unknown(s, x))) return;
    if (from != ORIGIN_OURS)
        reject_foreign(s, x, from);
    else if (v != GUARD_OPEN)
        reject_token(s, x, v);
    else if (sender_route(s, m, &r))
        ingest_request(s->ingest, x, &r);
    else if (is_probe(m->path))
        send_probe(s, x, m->path);
    else if (send_facts(s, x, m->path))
        return;
    else if (page_has(m->path))
        page_request(x);
    else if (pyroscope_has(m) && !is_call)
        send_text(x, 404, "the endpoints of Pyroscope are disabled\n");
    else if (api_saved_has(m))
        api_saved_request(s->saved, x, changes_of(s));
    else if (api_source_has(m))
        api_source_request(s->source, x);
    else if (api_has(m))
        api_request(s->api, x);
    else
        send_text(x, 404, "unknown endpoint\n");
}

static void on_gone(void *ctx, http_exchange *x)
{
    server *s = ctx;
    if (api_saved_has(http_exchange_message(x)))
        api_saved_gone(x);
    else if (api_source_has(http_exchange_message(x)))
        api_source_gone(s->source, x);
    else if (api_has(http_exchange_message(x)))
        api_gone(s->api, x);
    else
        ingest_gone(s->ingest, x);
}

static void on_ended(void *ctx, http_exchange *x)
{
    server *s = ctx;
    const http_message *m = http_exchange_message(x);
    if (api_source_has(m))
        api_source_ended(x);
    else if (api_has(m) && !api_saved_has(m))
        api_ended(s->api, x);
}

static void on_cut(void *ctx, const char *peer)
{
    server_log(ctx, LOG_STORE, true,
               "a response to %s was cut off: its temporary file cannot be read", peer);
}

http_server_events server_requests(server *s)
{
    return (http_server_events){.admit = on_admit,
                                .request = on_request,
                                .gone = on_gone,
                                .ended = on_ended,
                                .ctx = s,
                                .cut = on_cut};
}

void server_on_refused(void *ctx, const char *peer, verdict v, const char *why)
{
    server *s = ctx;
    uint64_t suppressed;
    char text[512];
    (void)v;
    if (!refusals_note(&s->refusals, peer, loop_now(s->loop), &suppressed)) return;
    snprintf(text, sizeof text, "rejected a request from %s: %s", peer, why);
    log_write(s->log, &(log_line){.event = LOG_REFUSED,
                                  .warning = true,
                                  .message = text,
                                  .fields = {{"sender", peer, 0},
                                             {"reason", why, 0},
                                             {"unsaid", NULL, suppressed}}});
}

void server_on_rejected(void *ctx, const char *peer, size_t n, const char *why)
{
    server *s = ctx;
    uint64_t suppressed;
    char text[RECEIVE_TEXT + 256];
    if (!refusals_note(&s->rejections, peer, loop_now(s->loop), &suppressed)) return;
    snprintf(text, sizeof text, "rejected part of a request from %s: %s", peer, why);
    log_write(s->log, &(log_line){.event = LOG_REJECTED,
                                  .warning = true,
                                  .message = text,
                                  .fields = {{"sender", peer, 0},
                                             {"rejected", NULL, n},
                                             {"reason", why, 0},
                                             {"unsaid", NULL, suppressed}}});
}
