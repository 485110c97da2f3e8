/* Dials on demand, sends over HTTP/1.1 or HTTP/2, and repeats a request once when a persistent
 * connection was closed before it reached the peer. */
#include "net/client.h"

#include "net/conn.h"
#include "net/h2.h"
#include "net/http1.h"
#include "base/ban.h"

enum { MAX_HEAD = 48 };

struct http_client {
    http_client_opts o;
    loop *loop;
    char host[256], authority[272];
    conn *conn;
    h2 *h2;        /* NULL: the connection uses HTTP/1.1 */
    bool open;     /* the connection is established */
    bool spoke_h2; /* the peer has sent a frame, so its protocol is known */
    http1 http1;
    http_message response; /* HTTP/1.1 only */

    http_request now; /* the open request */
    bool busy, sent;
    bool reused;   /* `now` was sent on a connection that had served other requests */
    bool received; /* a byte arrived since `now` was sent */
    uint64_t n_received;
    int32_t stream; /* HTTP/2 only */
    unsigned served;
    loop_timer timeout, later;
    err why; /* reported by `later` */
    http_mismatch mismatch;
};

static bool begin(http_client *c, err *e);

/* Records a mismatch.  Repeating the request would not help. */
static bool mismatch(http_client *c, http_mismatch why, const char *what, err *e)
{
    c->mismatch = why;
    return err_set(e, ERR_UNSUPPORTED, "%s %s", c->authority, what);
}

/* ---- the end of a request ---- */

static void drop_conn(http_client *c)
{
    conn_close(c->conn);
    h2_free(c->h2);
    c->conn = NULL, c->h2 = NULL;
    c->open = c->spoke_h2 = false;
    c->served = 0;
}

static void finish(http_client *c, const http_message *m, const err *e)
{
    if (!c->busy) return;
    c->busy = c->sent = false;
    loop_disarm(c->loop, &c->timeout);
    loop_disarm(c->loop, &c->later);
    c->o.done(c->o.ctx, m, e);
}

static void finish_err(http_client *c, const err *e)
{
    err why = *e;
    drop_conn(c);
    finish(c, NULL, &why);
}

static void on_timeout(void *ctx)
{
    http_client *c = ctx;
    err e = {0};
    const char *what = !c->open ? "no connection" : "no response";
    err_set(&e, ERR_SYS, "%s: %s within %.3g s", c->authority, what,
            (double)c->now.timeout / (double)NS_PER_S);
    finish_err(c, &e);
}

static void on_later(void *ctx)
{
    http_client *c = ctx;
    if (c->why.code)
        finish_err(c, &c->why);
    else if (c->h2)
        h2_deliver(c->h2);
}

/* Reports a failure inside http_client_send later, from the loop. */
static void fail_later(http_client *c, const err *e)
{
    c->why = *e;
    loop_arm(c->loop, &c->later, 0);
}

/* ---- writing ---- */

static bool send_http1(http_client *c, err *e)
{
    const http_request *r = &c->now;
    buf *b = conn_out(c->conn);
    http_message_reset(&c->response);
    c->response.body.limit = c->o.max_body;
    http1_begin(&c->http1, HTTP1_RESPONSE, &c->response);
    if (!http1_put_request(b, r->method, r->path, str_of(c->authority), r->head, r->n_head,
                           r->body[0].n + r->body[1].n, e))
        return false;
    buf_str(b, r->body[0]);
    buf_str(b, r->body[1]);
    conn_flush(c->conn);
    return true;
}

static bool flush_h2(http_client *c, err *e)
{
    if (!h2_take(c->h2, conn_out(c->conn), 0, e)) return false;
    conn_flush(c->conn);
    return true;
}

static bool send_h2(http_client *c, err *e)
{
    const http_request *r = &c->now;
    http_header head[MAX_HEAD] = {{STR(":method"), r->method},
                                  {STR(":scheme"), c->o.to.tls ? STR("https") : STR("http")},
                                  {STR(":authority"), str_of(c->authority)},
                                  {STR(":path"), r->path}};
    if (r->n_head > MAX_HEAD - 4)
        return err_set(e, ERR_LIMIT, "more than %d headers", MAX_HEAD - 4);
    for (size_t i = 0; i < r->n_head; i++) {
        head[4 + i] = r->head[i];
        if (!http_name_valid(r->head[i].name) || !http_value_valid(r->head[i].value))
            return err_set(e, ERR_USAGE, "`%.*s` cannot be sent as a header",
                           STR_ARG(r->head[i].name));
    }
    h2_send s = {.head = head, .n_head = 4 + r->n_head, .body = {r->body[0], r->body[1]}};
    c->stream = h2_request(c->h2, &s, e);
    c->why = (err){0};
    loop_arm(c->loop, &c->later, 0); /* delivers an immediate failure */
    return c->stream >= 0 && flush_h2(c, e);
}

static bool send_now(http_client *c, err *e)
{
    c->sent = true;
    c->received = false;
    c->n_received = 0;
    c->reused = c->served > 0;
    return c->h2 ? send_h2(c, e) : send_http1(c, e);
}

/* ---- events of the connection ---- */

static void h2_done(void *ctx, int32_t stream, http_message *m)
{
    http_client *c = ctx;
    if (!c->busy || stream != c->stream) return;
    c->served++;
    finish(c, m, NULL);
}

static void h2_failed(void *ctx, int32_t stream, bool unprocessed, const err *e)
{
    http_client *c = ctx;
    (void)unprocessed; /* the caller retries in any case */
    if (!c->busy || stream != c->stream) return;
    err why = *e;
    err_in(&why, "%s", c->authority);
    finish(c, NULL, &why);
}

static bool uses_h2(const http_client *c, conn *k)
{
    return conn_tls(k) ? str_eq(tls_alpn(conn_tls(k)), STR("h2")) : c->o.h2;
}

static void on_open(void *ctx, conn *k)
{
    http_client *c = ctx;
    err e = {0};
    c->conn = k;
    c->open = true;
    if (uses_h2(c, k)) {
        h2_opts o = {.max_body = c->o.max_body};
        h2_events ev = {.done = h2_done, .failed = h2_failed, .ctx = c};
        c->h2 = h2_open(&o, &ev, &e);
    } else if (c->o.h2) {
        mismatch(c, HTTP_PEER_HTTP1, "does not support HTTP/2, which gRPC requires", &e);
    }
    if (!e.code && c->busy && !send_now(c, &e)) err_in(&e, "%s", c->authority);
    if (e.code) finish_err(c, &e);
}

/* Detects by the first bytes whether the peer uses another protocol. */
static bool check_first(http_client *c, str bytes, err *e)
{
    if (!c->o.to.tls && tls_begins((unsigned char)bytes.p[0]) && bytes.n > 1 && bytes.p[1] == 3)
        return mismatch(c, HTTP_PEER_TLS, "speaks TLS, not plaintext", e);
    /* An HTTP/2 peer begins with its SETTINGS frame: three bytes of length, then type 4. */
    bool settings = bytes.n >= 4 && bytes.p[0] == 0 && bytes.p[3] == 4;
    if (c->h2 && bytes.n >= 4 && !settings)
        return mismatch(c, HTTP_PEER_HTTP1, "does not support HTTP/2, which gRPC requires", e);
    if (!c->h2 && settings) return mismatch(c, HTTP_PEER_HTTP2, "speaks gRPC, not HTTP/1.1", e);
    return true;
}

static bool take_http1(http_client *c, str bytes, err *e)
{
    if (!c->busy || !c->sent)
        return err_set(e, ERR_MALFORMED, "%s sent unsolicited data", c->authority);
    if (!http1_feed(&c->http1, &bytes, e)) return false;
    if (c->http1.state != HTTP1_DONE) return true;
    c->served++;
    bool keep = c->http1.keeps && !bytes.n &&
                !conn_unsent(c->conn); /* the peer responded early and no longer reads */
    if (!keep) drop_conn(c);
    finish(c, &c->response, NULL);
    return true;
}

static bool take_h2(http_client *c, str bytes, err *e)
{
    h2 *s = c->h2;
    if (!h2_feed(s, bytes, e) || !flush_h2(c, e)) return false;
    h2_deliver(s);
    if (c->h2 == s && !c->busy && h2_over(s)) drop_conn(c);
    return true;
}

static void on_data(void *ctx, conn *k, str bytes)
{
    (void)k;
    http_client *c = ctx;
    err e = {0};
    bool first = !c->served && !c->received && !c->spoke_h2;
    c->received = c->spoke_h2 = true;
    c->n_received += bytes.n;
    bool ok = (!first || check_first(c, bytes, &e)) &&
              (c->h2 ? take_h2(c, bytes, &e) : take_http1(c, bytes, &e));
    if (ok) return;
    if (!e.path[0] && e.code != ERR_UNSUPPORTED) err_in(&e, "%s", c->authority);
    finish_err(c, &e);
}

/* The connection ended.  If the peer closed a persistent connection before the request arrived,
 * sends the request once more on a new connection. */
static void on_closed(void *ctx, conn *k, const err *e)
{
    http_client *c = ctx;
    err why = *e;
    tls_failure tls_why = conn_tls(k) ? tls_failure_of(conn_tls(k)) : TLS_OK;
    bool dialled = conn_dialled(k);
    bool again = c->busy && c->sent && c->reused && !c->received;
    bool in_handshake = conn_tls(k) && (!c->open || tls_why);
    c->conn = NULL;
    bool complete = c->busy && c->sent && !c->h2 && !why.code && http1_end(&c->http1, &why);
    drop_conn(c);
    if (complete) {
        finish(c, &c->response, NULL);
        return;
    }
    if (!c->busy) return;
    if (again) {
        c->reused = c->sent = false;
        why = (err){0};
        if (begin(c, &why)) return;
    }
    if (!why.code) err_set(&why, ERR_SYS, "the peer closed the connection without a response");
    if (tls_why == TLS_PLAINTEXT) {
        why = (err){0};
        mismatch(c, HTTP_PEER_PLAINTEXT, "speaks plaintext, not TLS", &why);
    } else {
        static const http_mismatch of[] = {
            [TLS_UNTRUSTED] = HTTP_PEER_UNTRUSTED, [TLS_FAILED] = HTTP_PEER_TLS_FAILED};
        if (in_handshake && dialled) c->mismatch = tls_why ? of[tls_why] : HTTP_PEER_SILENT;
        err_in(&why, "%s", c->authority);
    }
    finish(c, NULL, &why);
}

/* ---- requests ---- */

static bool begin(http_client *c, err *e)
{
    conn_events ev = {.open = on_open, .data = on_data, .closed = on_closed, .ctx = c};
    c->conn = conn_dial(c->loop, c->host, c->o.to.port, c->o.tls, &ev, e);
    if (!c->conn) err_in(e, "%s", c->authority);
    return c->conn != NULL;
}

void http_client_send(http_client *c, const http_request *r)
{
    err e = {0};
    c->now = *r;
    c->mismatch = HTTP_MATCH;
    c->busy = true;
    c->sent = false;
    if (r->timeout) loop_arm(c->loop, &c->timeout, loop_now(c->loop) + r->timeout);
    if (c->h2 && h2_over(c->h2)) drop_conn(c);
    if (!(c->conn ? !c->open || send_now(c, &e) : begin(c, &e))) fail_later(c, &e);
}

http_client *http_client_open(loop *l, const http_client_opts *o, err *e)
{
    http_client *c = calloc(1, sizeof *c);
    if (!c) return err_memory(e), NULL;
    c->o = *o, c->loop = l;
    if (!c->o.max_body) c->o.max_body = HTTP_MAX_RESPONSE;
    bool usual = o->to.port == (o->to.tls ? 443 : 80) && !o->to.has_port;
    snprintf(c->host, sizeof c->host, "%.*s", STR_ARG(o->to.host));
    snprintf(c->authority, sizeof c->authority, o->to.bracketed ? "[%s]" : "%s", c->host);
    size_t n = strlen(c->authority);
    if (!usual) snprintf(c->authority + n, sizeof c->authority - n, ":%u", o->to.port);
    c->timeout = (loop_timer){.due = on_timeout, .ctx = c};
    c->later = (loop_timer){.due = on_later, .ctx = c};
    return c;
}

void http_client_close(http_client *c)
{
    if (!c) return;
    drop_conn(c);
    loop_disarm(c->loop, &c->timeout);
    loop_disarm(c->loop, &c->later);
    http_message_free(&c->response);
    free(c);
}

uint64_t http_client_received(const http_client *c) { return c->n_received; }
http_mismatch http_client_mismatch(const http_client *c) { return c->mismatch; }
const char *http_client_authority(const http_client *c) { return c->authority; }
