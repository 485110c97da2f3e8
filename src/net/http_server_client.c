/* One client: its position in the list, its memory, its timeouts and its end.  The memory of all
 * clients' responses has one limit; when it is reached, clients that do not read are closed. */
#include "net/http_server_parts.h"

#include "base/ban.h"
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    TICKS = 4,         /* a stall is measured in this many intervals */
    PIECE = 256 << 10, /* bytes of HTTP/2 sent at a time; pieces per turn: */
    PIECES_A_TURN = 4,
};

#define LINGER_NS (5 * NS_PER_S)
/* An HTTP/2 stream lingers at least this long and at most twice as long. */
#define PASSING_NS (5 * NS_PER_S / 2)
#define DRAIN_LINGER_NS NS_PER_S
/* While responses exceed the limit, clients that read more slowly than this are closed after a
 * second. */
#define OWED_RATE ((uint64_t)1 << 20)
#define OWED_NS NS_PER_S
/* When responses exceed the limit by a quarter, any client is closed unless its response is younger
 * than this. */
#define OWED_OVER_NS (NS_PER_S / 10)
/* A response is large if it has at least this fraction of the limit. */
enum { LARGE_SHARE = 4 };
/* Fractions of the limit: the share of one connection, and the estimate for a response of unknown
 * size. */
enum { OWN_SHARE = 4, UNKNOWN_SHARE = 16 };

/* ---- the list of clients ---- */

static void unlist(client *c)
{
    http_server *s = c->s;
    *(c->prev ? &c->prev->next : &s->oldest) = c->next;
    *(c->next ? &c->next->prev : &s->newest) = c->prev;
}

void client_enlist(client *c)
{
    http_server *s = c->s;
    c->prev = s->newest, c->next = NULL;
    *(c->prev ? &c->prev->next : &s->oldest) = c;
    s->newest = c;
}

bool client_is_reading(const client *c) { return c->h2 ? h2_reading(c->h2) > 0 : c->reading; }

bool client_is_in_head(const client *c)
{
    return !c->speaks || (c->speaks == SPEAKS_HTTP1 && c->reading && c->http1->state <= HTTP1_HEAD);
}

bool client_is_idle(const client *c)
{
    return !c->exchanges && !client_is_reading(c) && c->file.fd < 0;
}

/* ---- memory ---- */

/* Subtracts the unprocessed input from the pool, where it counts as a request body. */
void client_give_back_rest(client *c) { c->s->pool.used -= c->rest.n; }

void client_count_owed(client *c)
{
    http_server *s = c->s;
    size_t owed = c->conn ? conn_held(c->conn) + (c->h2 ? h2_owes(c->h2) : 0) : 0;
    if (c->conn && c->file.fd >= 0 && !owed) owed = 1; /* the file is not completely sent */
    client_count_files(c);
    s->owed = s->owed - c->owed + owed;
    if (!c->owed != !owed) {
        c->owes_since = owed ? loop_now(s->loop) : 0;
        c->owes_acked = owed ? conn_acked(c->conn) : 0;
    }
    c->owed = owed;
    if (s->large && (!s->large->owed || s->owed <= s->o.responses)) s->large = NULL;
}

/* Returns the memory of responses without the one large response.  The limit applies to this
 * sum. */
static size_t owed_besides(const http_server *s)
{
    if (!s->large) return s->owed;
    return s->owed - (s->large->owed < s->large_n ? s->large->owed : s->large_n);
}

bool http_server_is_overloaded(const http_server *s) { return owed_besides(s) > s->o.responses; }

static bool is_large(const http_server *s, size_t n) { return n > s->o.responses / LARGE_SHARE; }

bool client_fits(const client *c, size_t n)
{
    const http_server *s = c->s;
    size_t owed = owed_besides(s), most = s->o.responses;
    if (!n) n = most / UNKNOWN_SHARE;
    if (c->owed && (c->owed > most / OWN_SHARE || n > most / OWN_SHARE - c->owed)) return false;
    return owed <= most && (n <= most - owed || (is_large(s, n) && !s->large));
}

void client_claim_large(client *c, size_t n)
{
    http_server *s = c->s;
    if (s->large || s->owed <= s->o.responses || !is_large(s, n)) return;
    s->large = c;
    s->large_n = n;
}

static bool is_not_reading(const client *c, uint64_t now, bool over)
{
    uint64_t ns = now - c->owes_since;
    if (!c->owed) return false;
    if (over && c != c->s->large && ns >= OWED_OVER_NS) return true;
    return ns >= OWED_NS && conn_acked(c->conn) - c->owes_acked < OWED_RATE * (ns / NS_PER_S);
}

/* While responses exceed the limit, closes the client with the most pending bytes among those that
 * do not read. */
void http_server_collect_owed(http_server *s)
{
    if (s->owed <= s->o.responses) return;
    uint64_t now = loop_now(s->loop);
    while (s->owed > s->o.responses && !s->evicting) {
        client *most = NULL;
        bool over = owed_besides(s) / 5 > s->o.responses / 4;
        for (client *c = s->oldest; c; c = c->next)
            if (is_not_reading(c, now, over) && (!most || c->owed > most->owed)) most = c;
        if (!most) return;
        client_end_counted(most, &s->n.closed_owed);
    }
}

/* ---- end ---- */

void client_free_exchange(http_exchange *x)
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
        s->ev.gone(s->ev.ctx, c->exchanges);
        client_free_exchange(c->exchanges);
    }
}

static void destroy(client *c)
{
    http_message_free(&c->message);
    client_give_back_rest(c);
    buf_free(&c->rest);
    spill_close(&c->file);
    free(c->http1);
    free(c);
}

bool client_enter(client *c)
{
    bool outer = !c->busy;
    c->busy = true;
    return outer;
}

void client_leave(client *c, bool outer)
{
    if (!outer) return;
    c->busy = false;
    if (c->dead) destroy(c);
}

void client_end(client *c)
{
    http_server *s = c->s;
    if (c->dead) return;
    c->dead = true;
    loop_disarm(s->loop, &c->tick);
    loop_disarm(s->loop, &c->turn);
    loop_disarm(s->loop, &c->passing);
    if (c->first.fd >= 0) {
        loop_forget(s->loop, &c->first);
        close(c->first.fd);
    }
    lose_exchanges(c);
    conn_close(c->conn);
    h2_free(c->h2);
    c->conn = NULL, c->h2 = NULL;
    spill_close(&c->file);
    client_count_owed(c);
    unlist(c);
    s->n.connections--;
    if (!c->busy) destroy(c);
}

void client_end_counted(client *c, uint64_t *counter)
{
    if (!c->dead) ++*counter;
    client_end(c);
}

/* ---- sending HTTP/2 ---- */

void client_flush_h2(client *c)
{
    err e = {0};
    buf *out = c->dead ? NULL : conn_out(c->conn);
    size_t taken = 1;
    uint64_t cut = c->s->n.cut;
    for (int i = 0; i < PIECES_A_TURN && taken && out && conn_unsent(c->conn) < PIECE; i++) {
        if (!h2_take(c->h2, out, PIECE, &e)) {
            client_end_counted(c, &c->s->n.closed_broken);
            return;
        }
        taken = out->n;
        conn_flush(c->conn);
    }
    if (!out) return;
    if (c->s->n.cut != cut && c->s->ev.cut) c->s->ev.cut(c->s->ev.ctx, c->peer);
    if (conn_unsent(c->conn) >= PIECE) conn_pause(c->conn, true); /* until on_drained */
    if (taken && !conn_unsent(c->conn)) loop_arm(c->s->loop, &c->turn, 0);
    if (h2_over(c->h2)) c->closing = true;
    if (h2_lingering(c->h2) && !c->passing.armed)
        loop_arm(c->s->loop, &c->passing, loop_now(c->s->loop) + PASSING_NS);
    client_count_owed(c);
}

/* Resets lingering streams: their clients have had time to read the early response. */
void client_on_passing(void *ctx)
{
    client *c = ctx;
    bool outer = client_enter(c);
    h2_reset_lingering(c->h2);
    client_flush_h2(c);
    client_close_when_out(c);
    client_leave(c, outer);
}

/* Sends GOAWAY, from which a client learns which requests to repeat.  Lingering (see linger) makes
 * sure that it arrives. */
void client_send_goaway(client *c)
{
    h2_drain(c->h2);
    client_flush_h2(c);
    c->unread = true;
}

void client_end_idle(client *c, uint64_t *counter)
{
    bool outer = client_enter(c);
    ++*counter;
    if (c->h2) client_send_goaway(c);
    client_end(c);
    client_leave(c, outer);
}

/* ---- lingering ---- */

/* Closes the sending side only.  Closing the socket while the request still arrives would reset the
 * connection and lose the response. */
static void linger(client *c)
{
    http_server *s = c->s;
    c->lingers = true;
    conn_finish(c->conn);
    conn_pause(c->conn, false);
    loop_arm(s->loop, &c->tick, loop_now(s->loop) + (s->draining ? DRAIN_LINGER_NS : LINGER_NS));
}

void client_close_when_out(client *c)
{
    if (c->dead || c->lingers || !c->closing || c->exchanges || c->file.fd >= 0 ||
        conn_unsent(c->conn))
        return;
    if (c->unread)
        linger(c);
    else
        client_end(c);
}

/* ---- time ---- */

static uint64_t tick_ns(const http_server *s) { return s->o.stall_ns / TICKS + 1; }

/* Arms the tick.  A timer that would fire too early is not moved, so that requests stay cheap;
 * client_on_tick arms it again. */
void client_watch_clock(client *c, uint64_t now)
{
    http_server *s = c->s;
    uint64_t age = now - c->since, wait = tick_ns(s);
    if (client_is_idle(c) && c->conn && c->speaks && !c->owed)
        wait = age < s->o.idle_ns ? s->o.idle_ns - age + 1 : 0;
    else if (client_is_in_head(c) && age < s->o.head_ns && s->o.head_ns - age < wait)
        wait = s->o.head_ns - age;
    if (!c->tick.armed || c->tick.at > now + wait) loop_arm(s->loop, &c->tick, now + wait);
}

/* Returns whether unread input waits.  If so, the server is slow, not the client. */
bool client_has_unread(const client *c)
{
    int n = 0, fd = c->conn ? conn_fd(c->conn) : c->first.fd;
    return (c->h2 && c->rest.n) || (ioctl(fd, FIONREAD, &n) == 0 && n > 0);
}

/* Returns whether the client sends or reads more slowly than min_rate, whichever the server waits
 * for. */
static bool is_stalled(client *c)
{
    http_server *s = c->s;
    uint64_t least = (uint64_t)s->o.min_rate * tick_ns(s) / NS_PER_S;
    uint64_t acked = c->conn ? conn_acked(c->conn) : 0, in = c->h2 ? h2_received(c->h2) : c->in;
    client_count_owed(c);
    bool out = c->owed && acked - c->acked0 < least;
    bool slow =
        out || (!c->owed && client_is_reading(c) && in - c->in0 < least && !client_has_unread(c));
    c->slow = slow ? c->slow + 1 : 0;
    c->in0 = in, c->acked0 = acked;
    if (c->owed) c->owes_since = loop_now(s->loop), c->owes_acked = acked;
    return c->slow >= TICKS;
}

/* Closes a client that sent no request for idle_ns. */
static void close_idle(client *c)
{
    http_server *s = c->s;
    s->n.closed_idle++;
    if (c->h2) client_send_goaway(c);
    c->closing = true;
    client_close_when_out(c);
    if (!c->lingers) client_end(c);
}

void client_on_tick(void *ctx)
{
    client *c = ctx;
    http_server *s = c->s;
    uint64_t age = loop_now(s->loop) - c->since;
    bool outer = client_enter(c);
    if (c->lingers) {
        client_end(c);
        client_leave(c, outer);
        return;
    }
    bool slow = client_is_in_head(c) && age >= s->o.head_ns && !client_has_unread(c);
    if (slow || is_stalled(c))
        client_end_counted(c, &s->n.closed_slow);
    else if (client_is_idle(c) && c->speaks && !c->owed && age >= s->o.idle_ns)
        close_idle(c);
    else
        client_watch_clock(c, loop_now(s->loop));
    client_leave(c, outer);
}

/* Called after a request or response.  Restarts the timeouts and moves the client to the end of the
 * list. */
void client_refresh(client *c)
{
    if (c->dead) return;
    c->since = loop_now(c->s->loop);
    c->slow = 0;
    if (c->next) unlist(c), client_enlist(c);
    client_watch_clock(c, c->since);
}
