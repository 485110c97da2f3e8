/* net/conn_parts.h - what the files of a connection share: conn.c (its life, bytes in and out), conn_dial.c (how a client's begins). */
#pragma once
#include "net/conn.h"

#include <netdb.h>

typedef enum conn_state { CONN_DIALLING, CONN_HANDSHAKE, CONN_OPEN } conn_state;

struct conn {
    loop *loop;
    const world *world;
    conn_events ev;
    conn_state state;
    loop_watch watch; /* fd -1: no socket now */
    loop_timer next;  /* dialling: time for another address */
    loop_timer fail;  /* delivers a failure that happened inside a call of the owner's */
    err why;          /* of that failure */
    struct addrinfo *addresses, *at;
    tls *tls;
    buf plain_out, out; /* plain_out: what the owner wrote, to be sealed; out: for the socket */
    buf plain_in;
    uint64_t sent;
    uint32_t watching;
    bool paused, failed, unsaid; /* unsaid: `drained` is due when all is out */
    bool mute;                   /* the peer stopped listening, but may have said why */
    bool over;                   /* the peer says no more */
    bool finished;               /* no more from us */
    unsigned busy;               /* events under way: freeing waits for them */
    bool dead;                   /* closed while busy */
};

/* ---- conn.c ---- */

conn *conn_new(loop *l, tls_context *t, const char *host, const conn_events *ev, err *e);
void conn_release(conn *c); /* its socket and timers */
void conn_destroy(conn *c);
/* Brackets around everything that the loop calls: events inside may close the connection, which is freed at the end. */
void conn_enter(conn *c);
void conn_leave(conn *c);
void conn_say_closed(conn *c, const err *e);
NODISCARD bool conn_watch(conn *c, int fd, uint32_t events,
                          err *e); /* takes the socket, also when it fails */
/* The socket is connected: TLS begins, or it is open already. */
NODISCARD bool conn_start(conn *c, err *e);

/* ---- conn_dial.c ---- */

void conn_on_dialled(conn *c);        /* the socket is connected, or failed to */
void conn_on_next_address(void *who); /* this address takes too long */
