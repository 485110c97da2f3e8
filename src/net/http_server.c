#include "net/http_server.h"

#include "net/conn.h"
#include "net/h2.h"
#include "net/http1.h"
#include "base/ban.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum {
    LISTENERS = 16,
    ACCEPTS_A_ROUND = 64,
    MAX_HEAD = 48,
    TICKS = 4,            /* a stall is measured in so many pieces */
    REQUESTS_A_TURN = 16, /* of one HTTP/1.1 connection; then others have theirs */
    PIECE = 256 << 10,    /* of HTTP/2 that goes out; so many are a turn: */
    PIECES_A_TURN = 4,
};

#define LINGER_NS (5 * NS_PER_S)
#define DRAIN_LINGER_NS NS_PER_S
#define MAX_UNSENT ((size_t)1 << 20) /* who asks and does not listen is asked to wait */
/* While answers over the limit wait: who takes less than this, in a second or more, is closed. */
#define OWED_RATE ((uint64_t)1 << 20)
#define OWED_NS NS_PER_S

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum { PREFACE = sizeof preface - 1 };

typedef struct client client;

typedef struct listener {
    http_server *s;
    loop_watch watch;
    bool plain, tls; /* what clients may speak */
} listener;

struct http_exchange {
    client *of;
    http_exchange *next, **back; /* of its client */
    http_message *m;
    int32_t stream;
    void *user;
};

typedef enum speaks { SPEAKS_UNKNOWN, SPEAKS_HTTP1, SPEAKS_HTTP2 } speaks;

struct client {
    http_server *s;
    const listener *from;
    client *next, *prev; /* the one that was idle longest comes first */
    loop_watch first;    /* until its first byte is seen; fd -1 afterwards */
    conn *conn;
    speaks speaks;
    h2 *h2;
    http1 *http1;
    http_message message; /* HTTP/1.1: the request at hand */
    buf rest;             /* bytes that wait: for the protocol to be known, for an answer */
    http_exchange *exchanges;
    loop_timer tick;
    loop_timer turn;     /* HTTP/1.1: there is more in `rest`; HTTP/2: to be sent */
    uint64_t since;      /* of the state that the clock measures: no request, a head */
    uint64_t in;         /* bytes of requests so far */
    uint64_t in0, sent0; /* at the last tick */
    unsigned slow;       /* ticks without min_rate */
    size_t owed;         /* bytes of answers, as counted in the server's */
    uint64_t owes_since; /* 0: nothing */
    uint64_t owes_sent;  /* conn_sent then */
    bool reading;        /* a request has begun (HTTP/2: when bytes came last) */
    bool closing;        /* as soon as all is out */
    bool unread;         /* HTTP/1.1: answered before all of the request came */
    bool lingers;        /* all is out; until the peer has heard it, or LINGER_NS */
    bool busy, dead;     /* an event is under way; freed after it */
    bool feeding;        /* HTTP/2: what is answered now goes out right after */
    char peer[72];
};

struct http_server {
    loop *loop;
    http_limits o;
    http_server_events ev;
    tls_context *tls;
    listener listeners[LISTENERS];
    size_t n_listeners;
    client *oldest, *newest;
    http_pool pool;
    size_t owed; /* bytes of answers */
    http_server_counts n;
    loop_timer relief; /* requests were let go for others: they are to be answered */
    loop_timer rest;   /* from accepting, when there are no descriptors */
    bool draining;
    bool relieving; /* the list of clients is being walked */
};

static void take_plain(client *c, str bytes);
static void close_when_out(client *c);

/* ---- the list of clients ---- */

static void unlist(client *c)
{
    http_server *s = c->s;
    *(c->prev ? &c->prev->next : &s->oldest) = c->next;
    *(c->next ? &c->next->prev : &s->newest) = c->prev;
}

static void enlist(client *c)
{
    http_server *s = c->s;
    c->prev = s->newest, c->next = NULL;
    *(c->prev ? &c->prev->next : &s->oldest) = c;
    s->newest = c;
}

static bool is_reading(const client *c) { return c->h2 ? h2_reading(c->h2) > 0 : c->reading; }

/* Nothing but a part of a head has come. */
static bool is_heading(const client *c)
{
    return !c->speaks || (c->speaks == SPEAKS_HTTP1 && c->reading && c->http1->state <= HTTP1_HEAD);
}

static bool is_idle(const client *c) { return !c->exchanges && !is_reading(c); }

/* ---- what is held ---- */

/* Bytes that wait count as if they were a body; those of a preface are too few to count. */
static void give_back_rest(client *c) { c->s->pool.used -= c->rest.n; }

static void count_owed(client *c)
{
    http_server *s = c->s;
    size_t owed = c->conn ? conn_unsent(c->conn) + (c->h2 ? h2_owes(c->h2) : 0) : 0;
    s->owed = s->owed - c->owed + owed;
    if (!c->owed != !owed) {
        c->owes_since = owed ? loop_now(s->loop) : 0;
        c->owes_sent = owed ? conn_sent(c->conn) : 0;
    }
    c->owed = owed;
}

/* ---- the end of a client ---- */

static void free_exchange(http_exchange *x)
{
    *x->back = x->next;
    if (x->next) x->next->back = x->back;
    x->of->s->n.exchanges--;
    free(x);
}

static void lose_exchanges(client *c)
{
    http_server *s = c->s;
    while (c->exchanges) {
        s->n.gone++;
        s->ev.gone(s->ev.who, c->exchanges);
        free_exchange(c->exchanges);
    }
}

static void destroy(client *c)
{
    http_message_free(&c->message);
    give_back_rest(c);
    buf_free(&c->rest);
    free(c->http1);
    free(c);
}

/* Brackets: what is called back may end the client. */
static bool enter(client *c)
{
    bool outer = !c->busy;
    c->busy = true;
    return outer;
}

static void leave(client *c, bool outer)
{
    if (!outer) return;
    c->busy = false;
    if (c->dead) destroy(c);
}

static void end_client(client *c)
{
    http_server *s = c->s;
    if (c->dead) return;
    c->dead = true;
    loop_disarm(s->loop, &c->tick);
    loop_disarm(s->loop, &c->turn);
    if (c->first.fd >= 0) {
        loop_forget(s->loop, &c->first);
        close(c->first.fd);
    }
    lose_exchanges(c);
    conn_close(c->conn);
    h2_free(c->h2);
    c->conn = NULL, c->h2 = NULL;
    count_owed(c);
    unlist(c);
    s->n.connections--;
    if (!c->busy) destroy(c);
}

static void end_counted(client *c, uint64_t *counter)
{
    if (!c->dead) ++*counter;
    end_client(c);
}

/* ---- HTTP/2 goes out ---- */

static void flush_h2(client *c)
{
    err e = {0};
    buf *out = c->dead ? NULL : conn_out(c->conn);
    size_t taken = 1;
    for (int i = 0; i < PIECES_A_TURN && taken && out && conn_unsent(c->conn) < PIECE; i++) {
        if (!h2_take(c->h2, out, PIECE, &e)) {
            end_counted(c, &c->s->n.closed_broken);
            return;
        }
        taken = out->n;
        conn_flush(c->conn);
    }
    if (!out) return;
    if (conn_unsent(c->conn) >= PIECE) conn_pause(c->conn, true); /* until on_drained */
    if (taken && !conn_unsent(c->conn)) loop_arm(c->s->loop, &c->turn, 0);
    if (h2_over(c->h2)) c->closing = true;
    count_owed(c);
}

/* GOAWAY lets a client send again what crosses our word on its way, if it gets to hear it: see linger. */
static void say_goodbye(client *c)
{
    h2_drain(c->h2);
    flush_h2(c);
    c->unread = true;
}

/* Of a client that has nothing under way, for another one. */
static void end_idle(client *c, uint64_t *counter)
{
    bool outer = enter(c);
    ++*counter;
    if (c->h2) say_goodbye(c);
    end_client(c);
    leave(c, outer);
}

/* ---- time ---- */

static uint64_t tick_ns(const http_server *s) { return s->o.stall_ns / TICKS + 1; }

/* A clock that rings too early is left as it is, so that a request need not move it: on_tick sets it anew. */
static void watch_clock(client *c, uint64_t now)
{
    http_server *s = c->s;
    uint64_t age = now - c->since, wait = tick_ns(s);
    if (is_idle(c) && c->conn && c->speaks && !c->owed)
        wait = age < s->o.idle_ns ? s->o.idle_ns - age + 1 : 0;
    else if (is_heading(c) && age < s->o.head_ns && s->o.head_ns - age < wait)
        wait = s->o.head_ns - age;
    if (!c->tick.armed || c->tick.at > now + wait) loop_arm(s->loop, &c->tick, now + wait);
}

/* Bytes that move at less than min_rate, in the direction that we wait for. */
static bool is_stalled(client *c)
{
    http_server *s = c->s;
    uint64_t least = (uint64_t)s->o.min_rate * tick_ns(s) / NS_PER_S;
    uint64_t sent = c->conn ? conn_sent(c->conn) : 0, in = c->h2 ? h2_heard(c->h2) : c->in;
    count_owed(c);
    bool out = c->owed && sent - c->sent0 < least;
    bool slow = out || (!c->owed && is_reading(c) && in - c->in0 < least);
    c->slow = slow ? c->slow + 1 : 0;
    c->in0 = in, c->sent0 = sent;
    if (c->owed) c->owes_since = loop_now(s->loop), c->owes_sent = sent;
    return c->slow >= TICKS;
}

/* Nothing was asked for long. */
static void close_idle(client *c)
{
    http_server *s = c->s;
    s->n.closed_idle++;
    if (c->h2) say_goodbye(c);
    c->closing = true;
    close_when_out(c);
    if (!c->lingers) end_client(c);
}

static void on_tick(void *who)
{
    client *c = who;
    http_server *s = c->s;
    uint64_t age = loop_now(s->loop) - c->since;
    bool outer = enter(c);
    if (c->lingers) {
        end_client(c);
        leave(c, outer);
        return;
    }
    if (is_heading(c) && age >= s->o.head_ns)
        end_counted(c, &s->n.closed_slow);
    else if (is_stalled(c))
        end_counted(c, &s->n.closed_slow);
    else if (is_idle(c) && c->speaks && !c->owed && age >= s->o.idle_ns)
        close_idle(c);
    else
        watch_clock(c, loop_now(s->loop));
    leave(c, outer);
}

/* Something was asked or answered: the clock begins anew, and the client is the last to be thrown out. */
static void refresh(client *c)
{
    if (c->dead) return;
    c->since = loop_now(c->s->loop);
    c->slow = 0;
    if (c->next) unlist(c), enlist(c);
    watch_clock(c, c->since);
}

/* ---- handing out ---- */

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
    s->n.too_large += m->trouble == HTTP_TOO_LARGE;
    s->n.pressed += m->trouble == HTTP_PRESSED;
    return x;
}

static void hand_out(client *c, http_message *m, int32_t stream)
{
    http_server *s = c->s;
    http_exchange *x = new_exchange(c, m, stream);
    refresh(c);
    if (!x)
        end_client(c);
    else
        s->ev.request(s->ev.who, x);
}

/* ---- HTTP/2 comes in ---- */

static void h2_done(void *who, int32_t stream, http_message *m)
{
    client *c = who;
    c->s->n.requests_h2++;
    hand_out(c, m, stream);
}

static void h2_failed(void *who, int32_t stream, bool unprocessed, const err *e)
{
    (void)unprocessed, (void)e;
    client *c = who;
    for (http_exchange *x = c->exchanges; x; x = x->next)
        if (x->stream == stream) {
            c->s->n.gone++;
            c->s->ev.gone(c->s->ev.who, x);
            free_exchange(x);
            return;
        }
}

static void admit(void *who, http_message *m)
{
    client *c = who;
    http_server *s = c->s;
    if (s->ev.admit) s->ev.admit(s->ev.who, m);
}

static bool begin_h2(client *c)
{
    err e = {0};
    http_server *s = c->s;
    h2_opts o = {
        .server = true, .max_body = s->o.body, .max_streams = s->o.streams, .pool = &s->pool};
    h2_events ev = {.done = h2_done, .failed = h2_failed, .admit = admit, .who = c};
    c->speaks = SPEAKS_HTTP2;
    c->h2 = h2_open(&o, &ev, &e);
    if (c->h2 && s->draining) h2_drain(c->h2);
    return c->h2 != NULL;
}

static void take_h2(client *c, str bytes)
{
    err e = {0};
    bool ok = h2_feed(c->h2, bytes, &e);
    c->feeding = true;
    if (ok) h2_deliver(c->h2);
    c->feeding = false;
    flush_h2(c); /* also what nghttp2 says of a broken session */
    if (!ok) end_counted(c, &c->s->n.closed_broken);
    if (c->dead) return;
    bool was = c->reading;
    c->reading = is_reading(c);
    if (c->reading && !was)
        watch_clock(c, loop_now(c->s->loop)); /* it may sleep as long as an idle one may */
}

/* ---- HTTP/1.1 ---- */

static void begin_request(client *c)
{
    http_server *s = c->s;
    http_message_reset(&c->message);
    spares_give(&s->pool.spares, &c->message.body);
    c->message.body.limit = s->o.body;
    c->message.pool = &s->pool;
    http1_begin(c->http1, HTTP1_REQUEST, &c->message);
    c->http1->admit = admit, c->http1->who = c;
    c->reading = false;
}

static bool begin_http1(client *c)
{
    c->speaks = SPEAKS_HTTP1;
    c->http1 = calloc(1, sizeof *c->http1);
    if (c->http1) begin_request(c);
    return c->http1 != NULL;
}

/* What is no HTTP/1.1 gets one answer and the door. */
static void turn_away(client *c, const err *e)
{
    err ignored = {0};
    unsigned status = e->code == ERR_LIMIT ? 431 : e->code == ERR_SYS ? 503 : 400;
    http_header head[] = {{STR("connection"), STR("close")},
                          {STR("content-type"), STR("text/plain")}};
    buf *b = conn_out(c->conn);
    char text[sizeof e->msg + 1];
    snprintf(text, sizeof text, "%s\n", e->msg);
    if (http1_put_response(b, status, head, 2, strlen(text), &ignored)) buf_z(b, text);
    conn_flush(c->conn);
    c->closing = c->unread = true;
    c->s->n.closed_broken++;
}

static bool may_take(const client *c)
{
    return !c->dead && !c->closing && !c->exchanges && conn_unsent(c->conn) <= MAX_UNSENT &&
           !conn_deaf(c->conn);
}

static void hand_out_http1(client *c)
{
    c->s->n.requests_h1++;
    c->reading = false;
    http_message_whole(&c->message);
    hand_out(c, &c->message, 0);
}

static void keep_rest(client *c, str bytes)
{
    http_pool *p = &c->s->pool;
    buf_str(&c->rest, bytes);
    p->used += c->rest.n;
    if (c->rest.failed || conn_deaf(c->conn) || p->used > p->max + p->max / 4)
        end_client(c);
    else
        conn_pause(c->conn, true);
}

static void take_http1(client *c, str bytes)
{
    err e = {0};
    for (int i = 0; i < REQUESTS_A_TURN && bytes.n && may_take(c); i++) {
        http1_state before = c->http1->state;
        if (!c->reading) c->reading = true, refresh(c);
        if (!http1_feed(c->http1, &bytes, &e)) {
            turn_away(c, &e);
            return;
        }
        bool headed = before <= HTTP1_HEAD && c->http1->state > HTTP1_HEAD;
        if (headed && c->http1->expects && c->http1->state != HTTP1_DONE) {
            buf_z(conn_out(c->conn), "HTTP/1.1 100 Continue\r\n\r\n");
            conn_flush(c->conn);
        }
        if (c->http1->state != HTTP1_DONE) break;
        hand_out_http1(c);
    }
    if (c->dead || c->closing || !bytes.n) return;
    keep_rest(c, bytes); /* pipelined: after the answer, when it has gone out */
    if (!c->dead && may_take(c)) loop_arm(c->s->loop, &c->turn, 0);
}

/* ---- which protocol ---- */

static void find_out(client *c, str bytes)
{
    size_t n = bytes.n < PREFACE ? bytes.n : (size_t)PREFACE;
    bool prior = !memcmp(bytes.p, preface, n); /* HTTP/2, without asking first */
    if (prior && n < PREFACE) {
        buf_str(&c->rest, bytes);
        c->s->pool.used += c->rest.n;
        return;
    }
    if (!(prior ? begin_h2(c) : begin_http1(c))) {
        end_client(c);
        return;
    }
    refresh(c);
    take_plain(c, bytes);
}

static void take_plain(client *c, str bytes)
{
    if (c->speaks == SPEAKS_HTTP2)
        take_h2(c, bytes);
    else if (c->speaks == SPEAKS_HTTP1)
        take_http1(c, bytes);
    else
        find_out(c, bytes);
}

/* ---- what the connection tells ---- */

/* Closed at once, an answer to a request whose rest is still coming would be lost with it. */
static void linger(client *c)
{
    http_server *s = c->s;
    c->lingers = true;
    conn_finish(c->conn);
    conn_pause(c->conn, false);
    loop_arm(s->loop, &c->tick, loop_now(s->loop) + (s->draining ? DRAIN_LINGER_NS : LINGER_NS));
}

static void close_when_out(client *c)
{
    if (c->dead || c->lingers || !c->closing || c->exchanges || conn_unsent(c->conn)) return;
    if (c->unread)
        linger(c);
    else
        end_client(c);
}

static void on_open(void *who, conn *k) { (void)who, (void)k; }

static void on_data(void *who, conn *k, str bytes)
{
    (void)k;
    client *c = who;
    bool outer = enter(c);
    c->in += bytes.n;
    c->s->n.bytes_in += bytes.n;
    c->s->pool.now = loop_now(c->s->loop);
    if (c->closing) {
        /* nobody listens any more */
    } else if (c->rest.n) { /* a few bytes of what may be the preface */
        give_back_rest(c);
        buf all = c->rest;
        c->rest = (buf){0};
        buf_str(&all, bytes);
        if (all.failed)
            end_client(c);
        else
            take_plain(c, buf_view(&all));
        buf_free(&all);
    } else {
        take_plain(c, bytes);
    }
    if (c->s->pool.relieved) loop_arm(c->s->loop, &c->s->relief, 0);
    close_when_out(c);
    leave(c, outer);
}

/* What waits of HTTP/1.1: requests that came before the answer to the last one had gone out. */
static void take_rest(client *c)
{
    give_back_rest(c);
    buf rest = c->rest;
    c->rest = (buf){0};
    conn_pause(c->conn, false);
    if (rest.n) take_plain(c, buf_view(&rest));
    buf_free(&rest);
}

static void on_drained(void *who, conn *k)
{
    (void)k;
    client *c = who;
    bool outer = enter(c);
    count_owed(c);
    if (c->speaks == SPEAKS_HTTP1 && may_take(c)) {
        take_rest(c);
    } else if (c->h2) {
        conn_pause(c->conn, false);
        flush_h2(c);
    }
    close_when_out(c);
    leave(c, outer);
}

static void on_turn(void *who)
{
    client *c = who;
    bool outer = enter(c);
    if (c->h2)
        flush_h2(c);
    else if (may_take(c))
        take_rest(c);
    close_when_out(c);
    leave(c, outer);
}

/* Some say all they have to say, and then listen. */
static bool on_ended(void *who, conn *k)
{
    client *c = who;
    c->closing = true;
    return c->speaks == SPEAKS_HTTP1 && (c->exchanges || conn_unsent(k));
}

static void on_closed(void *who, conn *k, const err *e)
{
    (void)k;
    client *c = who;
    bool outer = enter(c);
    c->conn = NULL; /* it frees itself */
    if (e->code == ERR_MALFORMED || e->code == ERR_UNSUPPORTED)
        end_counted(c, &c->s->n.closed_broken);
    else
        end_client(c);
    leave(c, outer);
}

/* ---- others need the room ---- */

/* A request that was let go is answered at once: what it holds besides its body goes too. */
static void on_relief(void *who)
{
    http_server *s = who;
    s->pool.relieved = false;
    s->relieving = true;
    for (client *c = s->oldest, *next; c; c = next) {
        next = c->next; /* hand_out puts c at the end: it is seen again, and has no trouble then */
        bool outer = enter(c);
        if (c->h2) {
            h2_end_troubled(c->h2);
            h2_deliver(c->h2);
            flush_h2(c);
        } else if (c->reading && c->message.trouble && !is_heading(c)) {
            c->http1->keeps = false;
            hand_out_http1(c);
        }
        close_when_out(c);
        leave(c, outer);
    }
    s->relieving = false;
}

/* ---- the first byte ---- */

static void on_first(void *who, uint32_t events)
{
    (void)events;
    client *c = who;
    http_server *s = c->s;
    unsigned char first = 0;
    ssize_t n = recv(c->first.fd, &first, 1, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    bool sealed = n == 1 && tls_begins(first);
    if (n <= 0) {
        end_client(c);
        return;
    }
    if (sealed ? !c->from->tls || !s->tls : !c->from->plain) {
        end_counted(c, &s->n.closed_broken);
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
                      .who = c};
    c->conn = conn_take(s->loop, fd, sealed ? s->tls : NULL, &ev, &e);
    if (!c->conn) end_client(c);
}

/* ---- accepting ---- */

/* Who comes is let in before those who say nothing, or begin to speak and do not go on. */
static bool make_room(http_server *s)
{
    if (s->n.connections < s->o.connections) return true;
    client *c = s->oldest;
    while (c && !is_idle(c)) c = c->next;
    if (!c)
        for (c = s->oldest; c && !is_heading(c);) c = c->next;
    if (c)
        end_idle(c, &s->n.closed_full);
    else
        s->n.closed_full++;
    return c != NULL;
}

static void name_peer(client *c, const struct sockaddr_storage *a, socklen_t n)
{
    char host[INET6_ADDRSTRLEN + 16], port[8];
    if (getnameinfo((const struct sockaddr *)a, n, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(c->peer, sizeof c->peer, a->ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                 port);
}

static void take_client(listener *l, int fd, const struct sockaddr_storage *a, socklen_t n)
{
    http_server *s = l->s;
    err e = {0};
    int on = 1;
    client *c = make_room(s) ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *c = (client){.s = s, .from = l, .since = loop_now(s->loop)};
    c->first = (loop_watch){fd, on_first, c};
    c->tick = (loop_timer){.due = on_tick, .who = c};
    c->turn = (loop_timer){.due = on_turn, .who = c};
    name_peer(c, a, n);
    enlist(c);
    s->n.connections++, s->n.accepted++;
    if (loop_add(s->loop, &c->first, EPOLLIN, &e))
        watch_clock(c, c->since);
    else
        end_client(c);
}

static void listen_all(http_server *s, uint32_t events)
{
    for (size_t i = 0; i < s->n_listeners; i++)
        if (s->listeners[i].watch.fd >= 0) loop_change(s->loop, &s->listeners[i].watch, events);
}

static void on_rested(void *who) { listen_all(who, EPOLLIN); }

static void on_connection(void *who, uint32_t events)
{
    (void)events;
    listener *l = who;
    http_server *s = l->s;
    for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
        struct sockaddr_storage a;
        socklen_t n = sizeof a;
        int fd = accept4(l->watch.fd, (struct sockaddr *)&a, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_client(l, fd, &a, n);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            s->n.no_descriptors++;
            listen_all(s, 0); /* otherwise the loop would spin */
            loop_arm(s->loop, &s->rest, loop_now(s->loop) + NS_PER_S / 10);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* ---- the server ---- */

http_server *http_server_open(loop *l, const http_limits *o, const http_server_events *ev, err *e)
{
    http_server *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    *s = (http_server){.loop = l, .ev = *ev};
    http_server_limits(s, o);
    s->rest = (loop_timer){.due = on_rested, .who = s};
    s->relief = (loop_timer){.due = on_relief, .who = s};
    return s;
}

void http_server_limits(http_server *s, const http_limits *o)
{
    s->o = *o;
    if (!s->o.connections) s->o.connections = HTTP_CONNECTIONS;
    if (!s->o.streams) s->o.streams = 100;
    if (!s->o.body) s->o.body = (size_t)64 << 20;
    if (!s->o.bodies) s->o.bodies = (size_t)128 << 20;
    if (!s->o.answers) s->o.answers = (size_t)64 << 20;
    if (!s->o.head_ns) s->o.head_ns = 10 * NS_PER_S;
    if (!s->o.idle_ns) s->o.idle_ns = 120 * NS_PER_S;
    if (!s->o.stall_ns) s->o.stall_ns = 20 * NS_PER_S;
    if (!s->o.min_rate) s->o.min_rate = 1024;
    s->pool.max = s->o.bodies;
}

bool http_server_listen(http_server *s, int fd, tls_context *t, bool plain, err *e)
{
    if (s->n_listeners == LISTENERS) {
        close(fd);
        return err_set(e, ERR_LIMIT, "more than %d addresses to listen on", LISTENERS);
    }
    listener *l = &s->listeners[s->n_listeners];
    if (t) s->tls = t;
    *l = (listener){.s = s, .plain = plain, .tls = t != NULL};
    l->watch = (loop_watch){fd, on_connection, l};
    if (!loop_add(s->loop, &l->watch, EPOLLIN, e)) {
        close(fd);
        return false;
    }
    s->n_listeners++;
    return true;
}

void http_server_tls(http_server *s, tls_context *t) { s->tls = t; }

static void stop_listening(http_server *s)
{
    loop_disarm(s->loop, &s->rest);
    for (size_t i = 0; i < s->n_listeners; i++) {
        loop_watch *w = &s->listeners[i].watch;
        if (w->fd < 0) continue;
        loop_forget(s->loop, w);
        close(w->fd);
        w->fd = -1;
    }
}

void http_server_drain(http_server *s)
{
    if (s->draining) return;
    s->draining = true;
    stop_listening(s);
    for (client *c = s->oldest, *next; c; c = next) {
        next = c->next;
        bool outer = enter(c);
        if (c->h2) {
            say_goodbye(c);
            close_when_out(c);
        } else if (is_idle(c)) {
            end_client(c);
        }
        leave(c, outer);
    }
}

bool http_server_idle(const http_server *s) { return !s->oldest; }

void http_server_close(http_server *s)
{
    if (!s) return;
    stop_listening(s);
    while (s->oldest) end_client(s->oldest);
    loop_disarm(s->loop, &s->relief);
    spares_free(&s->pool.spares);
    free(s);
}

http_server_counts http_server_count(const http_server *s)
{
    http_server_counts n = s->n;
    n.held = s->pool.used;
    n.owed = s->owed;
    return n;
}

/* ---- answers ---- */

http_message *http_exchange_message(http_exchange *x) { return x->m; }
const char *http_exchange_peer(const http_exchange *x) { return x->of->peer; }
bool http_exchange_secure(const http_exchange *x) { return conn_tls(x->of->conn) != NULL; }
bool http_exchange_h2(const http_exchange *x) { return x->of->h2 != NULL; }
void **http_exchange_user(http_exchange *x) { return &x->user; }

static bool answer_h2(client *c, int32_t stream, const http_response *r, bool bare, err *e)
{
    char status[12], length[24];
    http_header head[MAX_HEAD];
    if (r->n_head > MAX_HEAD - 2) return err_set(e, ERR_LIMIT, "too many headers");
    snprintf(status, sizeof status, "%u", r->status);
    snprintf(length, sizeof length, "%zu", r->body ? r->body->n : 0);
    head[0] = (http_header){STR(":status"), str_of(status)};
    size_t n = 1;
    for (size_t i = 0; i < r->n_head; i++) head[n++] = r->head[i];
    if (!r->n_trailers && r->status != 304)
        head[n++] = (http_header){STR("content-length"), str_of(length)};
    h2_send out = {.head = head,
                   .n_head = n,
                   .owned = bare ? NULL : r->body,
                   .trailers = r->trailers,
                   .n_trailers = r->n_trailers};
    return h2_respond(c->h2, stream, &out, e);
}

static bool answer_http1(client *c, const http_response *r, bool bare, err *e)
{
    buf *b = conn_out(c->conn);
    http_header head[MAX_HEAD];
    if (r->n_head > MAX_HEAD - 1) return err_set(e, ERR_LIMIT, "too many headers");
    memcpy(head, r->head, r->n_head * sizeof *head);
    size_t n = r->n_head;
    bool keep = c->http1->keeps && !c->s->draining;
    if (!keep) head[n++] = (http_header){STR("connection"), STR("close")};
    if (!http1_put_response(b, r->status, head, n, r->body ? r->body->n : 0, e)) return false;
    if (r->body && !bare) buf_str(b, buf_view(r->body));
    conn_flush(c->conn);
    c->closing |= !keep;
    c->unread |= c->message.trouble != HTTP_WHOLE;
    return !b->failed || err_set(e, ERR_LIMIT, "out of memory");
}

static bool is_deaf(const client *c, uint64_t now)
{
    uint64_t ns = now - c->owes_since;
    return c->owed && ns >= OWED_NS &&
           conn_sent(c->conn) - c->owes_sent < OWED_RATE * (ns / NS_PER_S);
}

/* Answers over the limit wait: of those who do not take theirs the one with the most goes, until it is kept. */
static void collect_owed(http_server *s)
{
    if (s->owed <= s->o.answers) return;
    uint64_t now = loop_now(s->loop);
    while (s->owed > s->o.answers && !s->relieving) {
        client *most = NULL;
        for (client *c = s->oldest; c; c = c->next)
            if (is_deaf(c, now) && (!most || c->owed > most->owed)) most = c;
        if (!most) return;
        end_counted(most, &s->n.closed_owed);
    }
}

/* HTTP/1.1: the next request, which may have come already. */
static void go_on(client *c)
{
    if (c->dead || c->closing) return;
    begin_request(c);
    if (conn_unsent(c->conn) <= MAX_UNSENT) take_rest(c); /* otherwise on_drained does */
}

void http_answer(http_exchange *x, const http_response *r)
{
    client *c = x->of;
    err e = {0};
    bool outer = enter(c);
    bool bare = str_eq(x->m->method, STR("HEAD"));
    int32_t stream = x->stream;
    c->s->n.bytes_out += r->body && !bare ? r->body->n : 0;
    free_exchange(x);
    bool ok = c->h2 ? answer_h2(c, stream, r, bare, &e) : answer_http1(c, r, bare, &e);
    if (r->body) buf_free(r->body);
    if (ok && !c->h2)
        go_on(c);
    else if (ok && !c->feeding) /* all answers of this round go out together */
        loop_arm(c->s->loop, &c->turn, 0);
    if (!ok) end_client(c);
    if (!c->dead) count_owed(c), refresh(c);
    collect_owed(c->s);
    close_when_out(c);
    leave(c, outer);
}
