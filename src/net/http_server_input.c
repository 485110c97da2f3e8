/* Input of a client: the first byte distinguishes TLS from plaintext, the first bytes distinguish
 * HTTP/2 from HTTP/1.1, then requests are parsed and delivered.  Each client gets a bounded share
 * of a turn of the loop. */
#include "net/http_server_parts.h"

#include "base/ban.h"
#include <errno.h>
#include <unistd.h>

enum { REQUESTS_A_TURN = 16 }; /* limit for one HTTP/1.1 connection */
/* A client with this many pending response bytes is not read from. */
#define MAX_UNSENT ((size_t)1 << 20)

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum { PREFACE = sizeof preface - 1 };

static void take_plain(client *c, str bytes);

/* ---- delivery ---- */

static http_exchange *new_exchange(client *c, http_message *m, int32_t stream)
{
    http_server *s = c->s;
    http_exchange *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    *x = (http_exchange){.of = c, .m = m, .stream = stream, .next = c->exchanges};
    x->back = &c->exchanges;
    if (x->next) x->next->back = &x->next;
    c->exchanges = x;
    s->n.exchanges++;
    s->n.too_large += m->failure == HTTP_TOO_LARGE;
    s->n.pressed += m->failure == HTTP_OVERLOADED;
    return x;
}

static void deliver(client *c, http_message *m, int32_t stream)
{
    http_server *s = c->s;
    http_exchange *x = new_exchange(c, m, stream);
    client_refresh(c);
    if (!x)
        client_end(c);
    else
        s->ev.request(s->ev.ctx, x);
}

/* Saves input for a later turn and stops reading until then. */
static void save_rest(client *c, str bytes)
{
    http_pool *p = &c->s->pool;
    buf_str(&c->rest, bytes);
    p->used += c->rest.n;
    if (c->rest.failed || conn_is_write_closed(c->conn) || p->used > p->max + p->max / 4)
        client_end(c);
    else
        conn_pause(c->conn, true);
}

/* ---- HTTP/2 ---- */

static void h2_done(void *ctx, int32_t stream, http_message *m)
{
    client *c = ctx;
    c->s->n.requests_h2++;
    deliver(c, m, stream);
}

static void h2_failed(void *ctx, int32_t stream, bool unprocessed, const err *e)
{
    (void)unprocessed, (void)e;
    client *c = ctx;
    for (http_exchange *x = c->exchanges; x; x = x->next)
        if (x->stream == stream) {
            c->s->n.gone++;
            c->s->ev.gone(c->s->ev.ctx, x);
            client_free_exchange(x);
            return;
        }
}

static void admit(void *ctx, http_message *m)
{
    client *c = ctx;
    http_server *s = c->s;
    m->transport = (http_transport){
        .loopback = c->from->loopback, .tls = conn_tls(c->conn) != NULL, .h2 = c->h2 != NULL};
    if (s->ev.admit) s->ev.admit(s->ev.ctx, m);
}

static bool begin_h2(client *c)
{
    err e = {0};
    http_server *s = c->s;
    h2_opts o = {.server = true,
                 .max_body = s->o.body,
                 .max_streams = s->o.streams,
                 .pool = &s->pool,
                 .cut = &s->n.cut};
    h2_events ev = {.done = h2_done, .failed = h2_failed, .admit = admit, .ctx = c};
    c->speaks = SPEAKS_HTTP2;
    c->h2 = h2_open(&o, &ev, &e);
    if (c->h2 && s->draining) (s->drain.armed ? h2_announce_drain : h2_drain)(c->h2);
    return c->h2 != NULL;
}

/* Limits of one connection's work in a turn: normally, and once all connections together have
 * exceeded turn_long. */
static const h2_work turn_usual = {.frames = 4096, .requests = 32, .heads = 128 << 10},
                     turn_least = {.frames = 1024, .requests = 4, .heads = 8 << 10},
                     turn_long = {.frames = 32 << 10, .requests = 128, .heads = 1 << 20};

static bool has_done(const h2_work *w, const h2_work *most)
{
    return w->frames >= most->frames || w->requests >= most->requests || w->heads >= most->heads;
}

/* Sets *left to the work that the client may still cause in this turn.  Returns false when the
 * client must wait for the next turn. */
static bool begin_turn(client *c, h2_work *left)
{
    http_server *s = c->s;
    uint64_t turn = loop_turn(s->loop);
    if (s->turn_no != turn) s->turn_no = turn, s->work = (h2_work){0};
    if (c->turn_no != turn) c->turn_no = turn, c->work = (h2_work){0};
    const h2_work *most = has_done(&s->work, &turn_long) ? &turn_least : &turn_usual;
    if (has_done(&c->work, most)) return false;
    *left = (h2_work){.frames = most->frames - c->work.frames,
                      .requests = most->requests - c->work.requests,
                      .heads = most->heads - c->work.heads};
    return true;
}

static void add_work(h2_work *to, const h2_work *more)
{
    to->frames += more->frames, to->requests += more->requests, to->heads += more->heads;
}

static void count_work(client *c, const h2_work *done)
{
    http_server *s = c->s;
    add_work(&c->work, done), add_work(&s->work, done);
    if (s->work.frames > s->n.turn_frames) s->n.turn_frames = s->work.frames;
    if (s->work.requests > s->n.turn_requests) s->n.turn_requests = s->work.requests;
    if (s->work.heads > s->n.turn_head_bytes) s->n.turn_head_bytes = s->work.heads;
}

static bool feed_h2(client *c, str *bytes, err *e)
{
    h2_work left, done = {0};
    if (!begin_turn(c, &left)) return true;
    bool ok = h2_feed_some(c->h2, bytes, &left, &done, e);
    count_work(c, &done);
    return ok;
}

static void take_h2(client *c, str bytes)
{
    err e = {0};
    bool ok = feed_h2(c, &bytes, &e);
    c->feeding = true;
    if (ok) h2_deliver(c->h2);
    c->feeding = false;
    client_flush_h2(c); /* includes nghttp2's GOAWAY of an invalid session */
    if (!ok) client_end_counted(c, &c->s->n.closed_broken);
    if (!c->dead && bytes.n) { /* let other clients proceed */
        save_rest(c, bytes);
        if (!c->dead) loop_arm(c->s->loop, &c->turn, 0);
    }
    if (c->dead) return;
    bool was = c->reading;
    c->reading = client_is_reading(c);
    if (c->reading && !was)
        client_watch_clock(c, loop_now(c->s->loop)); /* the tick may be set for an idle client */
}

/* ---- HTTP/1.1 ---- */

static void begin_request(client *c)
{
    http_server *s = c->s;
    http_message_reset(&c->message);
    body_cache_give(&s->pool.body_cache, &c->message.body);
    c->message.body.limit = s->o.body;
    c->message.pool = &s->pool;
    http1_begin(c->http1, HTTP1_REQUEST, &c->message);
    c->http1->admit = admit, c->http1->ctx = c;
    c->reading = false;
}

static bool begin_http1(client *c)
{
    c->speaks = SPEAKS_HTTP1;
    c->http1 = calloc(1, sizeof *c->http1);
    if (c->http1) begin_request(c);
    return c->http1 != NULL;
}

/* Responds to invalid HTTP/1.1 and closes the connection. */
static void reject(client *c, const err *e)
{
    err ignored = {0};
    unsigned status = err_exhausted(e) ? 431 : e->code == ERR_SYS ? 503 : 400;
    http_header head[] = {{STR("connection"), STR("close")},
                          {STR("content-type"), STR("text/plain")}};
    buf *b = conn_out(c->conn);
    char text[sizeof e->msg + 1];
    snprintf(text, sizeof text, "%s\n", e->msg);
    if (http1_put_response(b, status, head, 2, strlen(text), &ignored)) buf_z(b, text);
    conn_flush(c->conn);
    http_message_drop_body(&c->message);
    c->closing = c->unread = true;
    c->s->n.closed_broken++;
}

/* Returns whether the client reads its responses.  The test is stricter while responses exceed the
 * limit. */
static bool takes_responses(const client *c)
{
    return conn_unsent(c->conn) <= (http_server_is_overloaded(c->s) ? 0 : MAX_UNSENT);
}

static bool may_take(const client *c)
{
    return !c->dead && !c->closing && !c->exchanges && c->file.fd < 0 && takes_responses(c) &&
           !conn_is_write_closed(c->conn);
}

static void deliver_http1(client *c)
{
    c->s->n.requests_h1++;
    c->reading = false;
    http_message_complete(&c->message);
    deliver(c, &c->message, 0);
}

static void take_http1(client *c, str bytes)
{
    err e = {0};
    for (int i = 0; i < REQUESTS_A_TURN && bytes.n && may_take(c); i++) {
        http1_state before = c->http1->state;
        if (!c->reading) c->reading = true, client_refresh(c);
        if (!http1_feed(c->http1, &bytes, &e)) {
            reject(c, &e);
            return;
        }
        bool headed = before <= HTTP1_HEAD && c->http1->state > HTTP1_HEAD;
        if (headed && c->http1->expects && c->http1->state != HTTP1_DONE) {
            buf_z(conn_out(c->conn), "HTTP/1.1 100 Continue\r\n\r\n");
            conn_flush(c->conn);
        }
        if (c->http1->state != HTTP1_DONE) break;
        deliver_http1(c);
    }
    if (c->dead || c->closing || !bytes.n) return;
    save_rest(c, bytes); /* pipelined requests wait until the response is sent */
    if (!c->dead && may_take(c)) loop_arm(c->s->loop, &c->turn, 0);
}

/* ---- protocol detection ---- */

static void detect_protocol(client *c, str bytes)
{
    size_t n = bytes.n < PREFACE ? bytes.n : (size_t)PREFACE;
    bool prior = !memcmp(bytes.p, preface, n); /* the preface of HTTP/2 */
    if (prior && n < PREFACE) {
        buf_str(&c->rest, bytes);
        c->s->pool.used += c->rest.n;
        return;
    }
    if (!(prior ? begin_h2(c) : begin_http1(c))) {
        client_end(c);
        return;
    }
    client_refresh(c);
    take_plain(c, bytes);
}

static void take_plain(client *c, str bytes)
{
    if (c->speaks == SPEAKS_HTTP2)
        take_h2(c, bytes);
    else if (c->speaks == SPEAKS_HTTP1)
        take_http1(c, bytes);
    else
        detect_protocol(c, bytes);
}

/* ---- events of the connection ---- */

static void on_open(void *ctx, conn *k) { (void)ctx, (void)k; }

static void on_data(void *ctx, conn *k, str bytes)
{
    (void)k;
    client *c = ctx;
    bool outer = client_enter(c);
    c->in += bytes.n;
    c->s->n.bytes_in += bytes.n;
    c->s->pool.now = loop_now(c->s->loop);
    if (c->closing) {
        /* input is ignored */
    } else if (c->rest.n) { /* holds a part of a possible preface */
        client_give_back_rest(c);
        buf all = c->rest;
        c->rest = (buf){0};
        buf_str(&all, bytes);
        if (all.failed)
            client_end(c);
        else
            take_plain(c, buf_view(&all));
        buf_free(&all);
    } else {
        take_plain(c, bytes);
    }
    if (c->s->pool.evicted) loop_arm(c->s->loop, &c->s->evicted, 0);
    client_close_when_out(c);
    client_leave(c, outer);
}

/* Processes saved input, such as pipelined requests. */
static void take_rest(client *c)
{
    client_give_back_rest(c);
    buf rest = c->rest;
    c->rest = (buf){0};
    conn_pause(c->conn, false);
    if (rest.n) take_plain(c, buf_view(&rest));
    buf_free(&rest);
}

void client_next_request(client *c)
{
    if (c->dead || c->closing) return;
    begin_request(c);
    if (takes_responses(c)) take_rest(c); /* otherwise on_drained continues */
}

static void on_drained(void *ctx, conn *k)
{
    (void)k;
    client *c = ctx;
    bool outer = client_enter(c);
    client_count_owed(c);
    if (c->file.fd >= 0) {
        client_send_file(c);
    } else if (c->speaks == SPEAKS_HTTP1 && may_take(c)) {
        take_rest(c);
    } else if (c->h2) {
        if (c->rest.n)
            loop_arm(c->s->loop, &c->turn, 0);
        else
            conn_pause(c->conn, false);
        client_flush_h2(c);
    }
    client_close_when_out(c);
    client_leave(c, outer);
}

void client_on_turn(void *ctx)
{
    client *c = ctx;
    bool outer = client_enter(c);
    if (c->h2) {
        client_flush_h2(c);
        if (!c->dead && !c->closing && c->rest.n && !conn_unsent(c->conn)) take_rest(c);
    } else if (c->file.fd >= 0) {
        client_send_file(c);
    } else if (may_take(c)) {
        take_rest(c);
    }
    client_close_when_out(c);
    client_leave(c, outer);
}

/* A client may close its sending side and still read the response. */
static bool on_ended(void *ctx, conn *k)
{
    client *c = ctx;
    const http_server_events *ev = &c->s->ev;
    c->closing = true;
    for (http_exchange *x = c->exchanges; x && ev->ended; x = x->next) ev->ended(ev->ctx, x);
    return c->speaks == SPEAKS_HTTP1 && (c->exchanges || c->file.fd >= 0 || conn_unsent(k));
}

static void on_closed(void *ctx, conn *k, const err *e)
{
    (void)k;
    client *c = ctx;
    bool outer = client_enter(c);
    c->conn = NULL; /* the connection frees itself */
    if (e->code == ERR_MALFORMED || e->code == ERR_UNSUPPORTED)
        client_end_counted(c, &c->s->n.closed_broken);
    else
        client_end(c);
    client_leave(c, outer);
}

/* ---- eviction ---- */

/* Responds to evicted requests, which releases the rest of their memory. */
void http_server_on_evicted(void *ctx)
{
    http_server *s = ctx;
    s->pool.evicted = false;
    s->evicting = true;
    for (client *c = s->oldest, *next; c; c = next) {
        next = c->next; /* deliver clears the failure and moves c to the end */
        bool outer = client_enter(c);
        if (c->h2) {
            h2_end_failed(c->h2);
            h2_deliver(c->h2);
            client_flush_h2(c);
        } else if (c->reading && c->message.failure && client_is_in_head(c)) {
            client_end_counted(c, &s->n.closed_slow);
        } else if (c->reading && c->message.failure) {
            c->http1->keeps = false;
            deliver_http1(c);
        }
        client_close_when_out(c);
        client_leave(c, outer);
    }
    s->evicting = false;
}

/* ---- the first byte ---- */

void client_on_first(void *ctx, uint32_t events)
{
    (void)events;
    client *c = ctx;
    http_server *s = c->s;
    unsigned char first = 0;
    ssize_t n = recv(c->first.fd, &first, 1, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    bool sealed = n == 1 && tls_begins(first);
    if (n <= 0) {
        client_end(c);
        return;
    }
    if (sealed ? !c->from->tls || !s->tls : !c->from->plain) {
        client_end_counted(c, &s->n.closed_broken);
        return;
    }
    err e = {0};
    int fd = c->first.fd;
    loop_forget(s->loop, &c->first);
    c->first.fd = -1;
    conn_events ev = {.open = on_open,
                      .data = on_data,
                      .drained = on_drained,
                      .ended = on_ended,
                      .closed = on_closed,
                      .ctx = c};
    c->conn = conn_take(s->loop, fd, sealed ? s->tls : NULL, &ev, &e);
    if (!c->conn) client_end(c);
}
