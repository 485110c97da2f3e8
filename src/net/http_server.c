/* Listening, accepting and draining. http_server_input.c reads requests, http_server_client.c
 * manages clients. */
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
/* While draining, connections that were quiet this long are closed at once, others after the grace
 * period. */
#define QUIET_NS NS_PER_S
#define GRACE_NS (NS_PER_S / 4)

/* ---- accepting ---- */

/* Closes an idle connection, or one that has not finished its headers, in favour of a new one. */
static bool make_room(http_server *s)
{
    if (s->n.connections < s->o.connections) return true;
    client *c = s->oldest;
    while (c && (!client_is_idle(c) || c->owed)) c = c->next;
    if (!c)
        for (c = s->oldest; c && !client_is_in_head(c);) c = c->next;
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
    c->tick = (loop_timer){.due = client_on_tick, .ctx = c};
    c->turn = (loop_timer){.due = client_on_turn, .ctx = c};
    c->passing = (loop_timer){.due = client_on_passing, .ctx = c};
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

static void on_rested(void *ctx) { listen_all(ctx, EPOLLIN); }

static void on_connection(void *ctx, uint32_t events)
{
    (void)events;
    listener *l = ctx;
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

/* Returns whether a connection was quiet for quiet_ns and has no unread input. */
static bool may_end(const client *c, uint64_t quiet_ns)
{
    return client_is_idle(c) && loop_now(c->s->loop) - c->since >= quiet_ns &&
           !client_has_unread(c);
}

static void end_quiet(http_server *s, uint64_t quiet_ns)
{
    for (client *c = s->oldest, *next; c; c = next) {
        next = c->next;
        bool outer = client_enter(c);
        if (c->h2 && (!quiet_ns || may_end(c, quiet_ns))) {
            client_send_goaway(c);
            client_close_when_out(c);
        } else if (c->h2) {
            h2_announce_drain(c->h2);
            client_flush_h2(c);
        } else if (may_end(c, quiet_ns)) {
            c->closing = true; /* closes after the response that is being sent */
            if (!c->conn || !conn_unsent(c->conn)) client_end(c);
        }
        client_leave(c, outer);
    }
}

static void on_drain(void *ctx) { end_quiet(ctx, 0); }

/* ---- the server ---- */

http_server *http_server_open(loop *l, const http_limits *o, const http_server_events *ev, err *e)
{
    http_server *s = calloc(1, sizeof *s);
    if (!s) return err_memory(e), NULL;
    *s = (http_server){.loop = l, .ev = *ev};
    http_server_limits(s, o);
    s->rest = (loop_timer){.due = on_rested, .ctx = s};
    s->drain = (loop_timer){.due = on_drain, .ctx = s};
    s->evicted = (loop_timer){.due = http_server_on_evicted, .ctx = s};
    return s;
}

void http_server_limits(http_server *s, const http_limits *o)
{
    s->o = *o;
    if (!s->o.connections) s->o.connections = HTTP_CONNECTIONS;
    if (!s->o.streams) s->o.streams = 100;
    if (!s->o.body) s->o.body = (size_t)64 << 20;
    if (!s->o.bodies) s->o.bodies = (size_t)128 << 20;
    if (!s->o.responses) s->o.responses = (size_t)64 << 20;
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

/* Requests may be in transit on recently busy connections and on connections that are not accepted
 * yet.  They get a response that announces the end of the connection. */
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

/* Sends the HTTP/2 responses that would normally be sent at the end of the turn: there is no
 * further turn. */
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
    loop_disarm(s->loop, &s->evicted);
    loop_disarm(s->loop, &s->drain);
    body_cache_free(&s->pool.body_cache);
    free(s);
}

http_server_counts http_server_count(const http_server *s)
{
    http_server_counts n = s->n;
    n.held = s->pool.used;
    n.owed = s->owed;
    return n;
}
