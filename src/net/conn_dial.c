/* Opens client connections: looks up a name and tries its addresses in turn. */
#include "net/conn_parts.h"

#include "base/ban.h"
#include <errno.h>
#include <sys/socket.h>

/* Time limit for one address while others remain. */
#define NEXT_ADDRESS_NS (2 * NS_PER_S)

static bool dial_next(conn *c, err *e)
{
    for (; c->at; c->at = c->at->ai_next) {
        int fd = c->world->dial(c->world->ctx, c->at->ai_addr, c->at->ai_addrlen);
        err why = {0};
        if (fd < 0)
            err_sys(&why, errno, "cannot connect");
        else if (conn_watch(c, fd, EPOLLOUT, &why)) {
            if (c->at->ai_next) loop_arm(c->loop, &c->next, loop_now(c->loop) + NEXT_ADDRESS_NS);
            return true;
        }
        c->why = why;
    }
    *e = c->why;
    return false;
}

static void give_up_address(conn *c, int why)
{
    err e = {0};
    err_sys(&c->why, why, "cannot connect");
    c->why.sys = why;
    conn_release(c);
    c->at = c->at->ai_next;
    if (!dial_next(c, &e)) conn_report_closed(c, &e);
}

void conn_on_next_address(void *ctx)
{
    conn *c = ctx;
    conn_enter(c);
    c->why = (err){0};
    if (c->state == CONN_DIALLING) give_up_address(c, ETIMEDOUT);
    conn_leave(c);
}

void conn_on_dialled(conn *c)
{
    int why = 0;
    socklen_t n = sizeof why;
    if (getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &why, &n) != 0 && errno != ENOPROTOOPT)
        why = errno;
    if (why) {
        c->why = (err){0};
        give_up_address(c, why);
        return;
    }
    loop_disarm(c->loop, &c->next);
    err e = {0};
    c->why = e;
    if (!conn_start(c, &e)) conn_report_closed(c, &e);
}

conn *conn_dial(loop *l, const char *host, uint16_t port, tls_context *t, const conn_events *ev,
                err *e)
{
    conn *c = conn_new(l, t, host, ev, e);
    if (!c) return NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int r = getaddrinfo(host, service, &hints, &c->addresses);
    c->at = c->addresses;
    c->state = CONN_DIALLING;
    if (r)
        err_set(e, ERR_SYS, "cannot look up %s: %s", host,
                r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
    else if (dial_next(c, e))
        return c;
    conn_destroy(c);
    return NULL;
}
