/* Reads and writes of a connection, and when its memory may be freed: callbacks may close a
 * connection while its own code runs, so freeing waits until the outermost call returns. */
#include "net/conn_parts.h"

#include "base/ban.h"
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { READ = 64 << 10, READS_A_ROUND = 16, KEEP = 16 << 10 };
/* Limit of the time that one connection may use per turn. */
#define TURN_NS (2 * NS_PER_MS)
/* Once a turn has lasted this long, each further connection gets a single read. */
#define LONG_TURN_NS (10 * NS_PER_MS)

static void on_ready(void *ctx, uint32_t events);
static void on_fail(void *ctx);

static void drop_front(buf *b, size_t n)
{
    b->p += n, b->head += n, b->n -= n, b->cap -= n;
    if (!b->n) buf_reset(b);
}

/* Frees a large buffer that is empty, because idle connections should not hold memory. */
static void trim(buf *b)
{
    if (!b->n && b->cap > KEEP) buf_free(b);
}

/* ---- lifetime ---- */

void conn_release(conn *c)
{
    loop_disarm(c->loop, &c->next);
    loop_disarm(c->loop, &c->fail);
    if (c->watch.fd >= 0) {
        loop_forget(c->loop, &c->watch);
        close(c->watch.fd);
        c->watch.fd = -1;
    }
}

void conn_destroy(conn *c)
{
    conn_release(c);
    if (c->addresses) freeaddrinfo(c->addresses);
    tls_free(c->tls);
    buf_free(&c->plain_out);
    buf_free(&c->out);
    buf_free(&c->plain_in);
    free(c);
}

/* Sends TLS's close_notify. Ignores errors. */
static void send_close_notify(conn *c)
{
    if (!c->tls || c->state != CONN_OPEN || c->failed || c->finished || c->out.n) return;
    tls_end(c->tls, &c->out);
    if (c->out.n) (void)c->world->send(c->world->ctx, c->watch.fd, c->out.p, c->out.n);
    buf_reset(&c->out);
}

void conn_finish(conn *c)
{
    if (c->dead || c->failed || c->finished) return;
    send_close_notify(c);
    c->finished = true;
    (void)shutdown(c->watch.fd, SHUT_WR);
}

void conn_close(conn *c)
{
    if (!c) return;
    send_close_notify(c);
    conn_release(c);
    c->dead = true;
    if (!c->busy) conn_destroy(c);
}

void conn_enter(conn *c) { c->busy++; }
void conn_leave(conn *c)
{
    if (--c->busy == 0 && c->dead) conn_destroy(c);
}

void conn_report_closed(conn *c, const err *e)
{
    if (c->dead) return;
    err why = *e;
    conn_release(c);
    c->dead = true; /* conn_leave frees it */
    c->ev.closed(c->ev.ctx, c, &why);
}

/* Reports a failure later, from the loop, so that no call by the owner runs a callback. */
static void fail_later(conn *c, const err *e)
{
    if (c->failed || c->dead) return;
    c->failed = true;
    c->why = *e;
    loop_arm(c->loop, &c->fail, 0);
}

static void on_fail(void *ctx)
{
    conn *c = ctx;
    conn_enter(c);
    conn_report_closed(c, &c->why);
    conn_leave(c);
}

conn *conn_new(loop *l, tls_context *t, const char *host, const conn_events *ev, err *e)
{
    conn *c = calloc(1, sizeof *c);
    if (!c) return err_memory(e), NULL;
    *c = (conn){.loop = l, .world = loop_world(l), .ev = *ev};
    c->watch = (loop_watch){-1, on_ready, c};
    c->next = (loop_timer){.due = conn_on_next_address, .ctx = c};
    c->fail = (loop_timer){.due = on_fail, .ctx = c};
    if (t && !(c->tls = tls_open(t, host, e))) conn_destroy(c), c = NULL;
    return c;
}

bool conn_watch(conn *c, int fd, uint32_t events, err *e)
{
    c->watch.fd = fd;
    c->watching = events;
    if (loop_add(c->loop, &c->watch, events, e)) return true;
    close(fd);
    c->watch.fd = -1;
    return false;
}

static void watch_for(conn *c)
{
    uint32_t want =
        (c->paused || c->over ? 0u : (uint32_t)EPOLLIN) | (c->out.n ? (uint32_t)EPOLLOUT : 0u);
    if (c->state == CONN_DIALLING) want = EPOLLOUT;
    if (want == c->watching || c->watch.fd < 0) return;
    c->watching = want;
    loop_change(c->loop, &c->watch, want);
}

/* ---- out ---- */

static bool send_some(conn *c, err *e)
{
    while (c->out.n) {
        ssize_t n = c->world->send(c->world->ctx, c->watch.fd, c->out.p, c->out.n);
        if (n > 0) {
            drop_front(&c->out, (size_t)n);
            c->sent += (uint64_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if ((errno == EPIPE || errno == ECONNRESET) && !c->over) {
            c->write_closed = true; /* a response may still be readable */
            buf_reset(&c->out);
        } else if (errno != EINTR) {
            return err_sys(e, errno, "the connection broke while sending");
        }
    }
    watch_for(c);
    return true;
}

static bool push(conn *c, err *e)
{
    buf *b = &c->plain_out;
    if (c->state == CONN_OPEN && b->n) {
        bool ok = !b->failed;
        if (ok && c->tls) {
            ok = tls_seal(c->tls, buf_view(b), &c->out, e);
        } else if (ok && !c->out.n) { /* nothing is pending: move the buffer, do not copy */
            buf t = c->out;
            c->out = *b, *b = t;
        } else {
            buf_str(&c->out, buf_view(b));
        }
        buf_reset(b);
        trim(b); /* c->out has the data now; slow readers should not occupy both */
        if (c->write_closed) buf_reset(&c->out);
        if (!ok || c->out.failed) return err_memory(e);
        c->drain_pending = true;
    }
    return send_some(c, e);
}

buf *conn_out(conn *c) { return &c->plain_out; }

void conn_flush(conn *c)
{
    err e = {0};
    if (c->failed || c->dead || c->state != CONN_OPEN) return;
    if (!push(c, &e)) fail_later(c, &e);
}

size_t conn_unsent(const conn *c) { return c->out.n + c->plain_out.n; }
uint64_t conn_sent(const conn *c) { return c->sent; }

uint64_t conn_acked(const conn *c)
{
    int n = 0;
    if (c->watch.fd < 0 || ioctl(c->watch.fd, SIOCOUTQ, &n) != 0 || n < 0) n = 0;
    return (uint64_t)n < c->sent ? c->sent - (uint64_t)n : 0;
}

static size_t held(const buf *b) { return b->n ? b->head + b->cap : 0; }
size_t conn_held(const conn *c) { return held(&c->out) + held(&c->plain_out); }

bool conn_is_write_closed(const conn *c) { return c->write_closed; }
int conn_fd(const conn *c) { return c->watch.fd; }
bool conn_dialled(const conn *c) { return c->state != CONN_DIALLING; }
tls *conn_tls(const conn *c) { return c->tls; }

void conn_pause(conn *c, bool paused)
{
    c->paused = paused;
    if (!c->dead) watch_for(c);
}

/* ---- an accepted socket ---- */

conn *conn_take(loop *l, int fd, tls_context *t, const conn_events *ev, err *e)
{
    conn *c = conn_new(l, t, NULL, ev, e);
    if (!c) return close(fd), NULL;
    c->state = t ? CONN_HANDSHAKE : CONN_OPEN;
    if (conn_watch(c, fd, EPOLLIN, e)) return c;
    conn_destroy(c);
    return NULL;
}

/* ---- in ---- */

static bool opened(conn *c, err *e)
{
    c->state = CONN_OPEN;
    watch_for(c);
    c->ev.open(c->ev.ctx, c);
    return c->dead || c->failed || push(c, e);
}

bool conn_start(conn *c, err *e)
{
    if (!c->tls) return opened(c, e);
    c->state = CONN_HANDSHAKE;
    return tls_feed(c->tls, (str){0}, &c->plain_in, &c->out, e) && send_some(c, e);
}

static bool take_plain(conn *c, err *e)
{
    bool was_open = c->state == CONN_OPEN;
    if (!was_open && tls_ready(c->tls) && !opened(c, e)) return false;
    if (c->plain_in.n && !c->dead && !c->failed) {
        c->ev.data(c->ev.ctx, c, buf_view(&c->plain_in));
        buf_reset(&c->plain_in);
    }
    return c->dead || c->failed || send_some(c, e);
}

static bool take_bytes(conn *c, str bytes, err *e)
{
    if (!c->tls) return c->ev.data(c->ev.ctx, c, bytes), true;
    err why = {0};
    bool ok = tls_feed(c->tls, bytes, &c->plain_in, &c->out, &why);
    if (!ok) { /* deliver the bytes before the failure; try to send the alert */
        if (c->plain_in.n && c->state == CONN_OPEN)
            c->ev.data(c->ev.ctx, c, buf_view(&c->plain_in));
        buf_reset(&c->plain_in);
        if (!c->dead && c->out.n)
            (void)c->world->send(c->world->ctx, c->watch.fd, c->out.p, c->out.n);
        *e = why;
        return c->dead;
    }
    return take_plain(c, e);
}

/* Called at the end of the peer's data. Returns true when the owner will still write. */
static bool ended(conn *c, err *e)
{
    if (c->state == CONN_HANDSHAKE)
        return err_set(e, ERR_SYS, "the peer closed the connection during the TLS handshake");
    if (c->write_closed)
        return err_set(e, ERR_SYS, "the peer closed the connection before everything was sent");
    c->over = c->ev.ended && c->ev.ended(c->ev.ctx, c);
    return c->over || c->dead;
}

/* Returns false when the connection ended; e->code is ERR_OK when the peer closed it. */
static bool read_some(conn *c, err *e)
{
    char chunk[READ];
    uint64_t now = loop_now(c->loop), until = now + TURN_NS;
    if (now - loop_turn_began(c->loop) >= LONG_TURN_NS) until = now;
    for (int i = 0; i < READS_A_ROUND && !c->paused; i++) {
        if (i && loop_now(c->loop) >= until) break;
        ssize_t n = c->world->recv(c->world->ctx, c->watch.fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (n < 0) return err_sys(e, errno, "the connection broke");
        if (n == 0) return ended(c, e);
        if (!take_bytes(c, (str){chunk, (size_t)n}, e)) return false;
        if (c->dead || c->failed) return true;
        if (c->tls && tls_ended(c->tls)) return ended(c, e);
    }
    return true;
}

static void report_drained(conn *c)
{
    if (!c->drain_pending || c->out.n || c->plain_out.n || c->dead || c->failed) return;
    c->drain_pending = false;
    if (c->ev.drained) c->ev.drained(c->ev.ctx, c);
}

static void on_ready(void *ctx, uint32_t events)
{
    conn *c = ctx;
    err e = {0};
    if (c->failed) return; /* on_fail reports it */
    conn_enter(c);
    bool ok = true;
    if (c->state == CONN_DIALLING) {
        conn_on_dialled(c);
    } else {
        bool gone = events & (EPOLLERR | EPOLLHUP);
        if (gone && (c->paused || c->over))
            ok = err_set(&e, ERR_SYS, "the peer disconnected");
        else if (gone || events & EPOLLIN)
            ok = read_some(c, &e);
        if (ok && !c->dead && !c->failed) ok = send_some(c, &e);
        if (ok) report_drained(c);
        trim(&c->plain_in), trim(&c->plain_out), trim(&c->out);
    }
    if (!ok) conn_report_closed(c, &e);
    conn_leave(c);
}
