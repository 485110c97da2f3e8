#include "net/http_server_parts.h"

#include "net/listen.h"
#include "base/ban.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum { ACCEPTS_A_ROUND = 64 };
/* When it drains: connections that said nothing for so long end at once, others after a grace. */
#define QUIET_NS NS_PER_S
#define GRACE_NS (NS_PER_S / 4)

/* ---- accepting ---- */

/* Who comes is let in before those who say nothing, or begin to speak and do not go on. */
static bool make_room(http_server *s)
{
    if (s->n.connections < s->o.connections) return true;
    client *c = s->oldest;
    while (c && (!client_is_idle(c) || c->owed)) c = c->next;
    if (!c)
        for (c = s->oldest; c && !client_is_heading(c);) c = c->next;
    if (c)
        client_end_idle(c, &s->n.closed_full);
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
    *c = (client){.s = s, .from = l, .since = loop_now(s->loop), .file = SPILL_NONE};
    c->first = (loop_watch){fd, client_on_first, c};
    c->tick = (loop_timer){.due = client_on_tick, .who = c};
    c->turn = (loop_timer){.due = client_on_turn, .who = c};
    c->passing = (loop_timer){.due = client_on_passing, .who = c};
    name_peer(c, a, n);
    client_enlist(c);
    s->n.connections++, s->n.accepted++;
    if (loop_add(s->loop, &c->first, EPOLLIN, &e))
        client_watch_clock(c, c->since);
    else
        client_end(c);
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

/* ---- draining ---- */

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

/* It said nothing for a while, or had its time to: if it is to be heard yet, it said so already. */
static bool may_end(const client *c, uint64_t quiet_ns)
{
    return client_is_idle(c) && loop_now(c->s->loop) - c->since >= quiet_ns &&
           !client_has_spoken(c);
}

static void end_quiet(http_server *s, uint64_t quiet_ns)
{
    for (client *c = s->oldest, *next; c; c = next) {
        next = c->next;
        bool outer = client_enter(c);
        if (c->h2 && (!quiet_ns || may_end(c, quiet_ns))) {
            client_say_goodbye(c);
            client_close_when_out(c);
        } else if (c->h2) {
            h2_announce_drain(c->h2);
            client_flush_h2(c);
        } else if (may_end(c, quiet_ns)) {
            c->closing = true; /* behind the answer that it is still taking */
            if (!c->conn || !conn_unsent(c->conn)) client_end(c);
        }
        client_leave(c, outer);
    }
}

static void on_drain(void *who) { end_quiet(who, 0); }

/* ---- the server ---- */

http_server *http_server_open(loop *l, const http_limits *o, const http_server_events *ev, err *e)
{
    http_server *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    *s = (http_server){.loop = l, .ev = *ev};
    http_server_limits(s, o);
    s->rest = (loop_timer){.due = on_rested, .who = s};
    s->drain = (loop_timer){.due = on_drain, .who = s};
    s->relief = (loop_timer){.due = http_server_on_relief, .who = s};
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
    if (!s->o.files) s->o.files = (uint64_t)1 << 30;
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
    *l = (listener){.s = s, .plain = plain, .tls = t != NULL, .loopback = net_is_loopback(fd)};
    l->watch = (loop_watch){fd, on_connection, l};
    if (!loop_add(s->loop, &l->watch, EPOLLIN, e)) {
        close(fd);
        return false;
    }
    s->n_listeners++;
    return true;
}

void http_server_tls(http_server *s, tls_context *t) { s->tls = t; }

/* A request may be on its way on every connection that was busy a moment ago: it is answered, and the response says that it is the
 * last one.  So it is on connections that nobody accepted yet. */
void http_server_drain(http_server *s)
{
    if (s->draining) return;
    for (size_t i = 0; i < s->n_listeners; i++)
        if (s->listeners[i].watch.fd >= 0) on_connection(&s->listeners[i], EPOLLIN);
    s->draining = true;
    stop_listening(s);
    end_quiet(s, QUIET_NS);
    loop_arm(s->loop, &s->drain, loop_now(s->loop) + GRACE_NS);
}

bool http_server_idle(const http_server *s) { return !s->oldest; }

/* HTTP/2 answers of this round go out at its end, which will not come: as much as the socket takes. */
static void flush_last(client *c)
{
    bool outer = client_enter(c);
    for (uint64_t sent = UINT64_MAX; !c->dead && c->h2 && conn_sent(c->conn) != sent;) {
        sent = conn_sent(c->conn);
        client_flush_h2(c);
    }
    client_end(c);
    client_leave(c, outer);
}

void http_server_close(http_server *s)
{
    if (!s) return;
    stop_listening(s);
    while (s->oldest) flush_last(s->oldest);
    loop_disarm(s->loop, &s->relief);
    loop_disarm(s->loop, &s->drain);
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
