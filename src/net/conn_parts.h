/* net/conn_parts.h - shared by conn.c (lifetime, reads and writes) and conn_dial.c (client
 * connections). */
#pragma once
#include "net/conn.h"

#include <netdb.h>

typedef enum conn_state { CONN_DIALLING, CONN_HANDSHAKE, CONN_OPEN } conn_state;

struct conn {
    loop *loop;
    const world *world;
    conn_events ev;
    conn_state state;
    loop_watch watch; /* fd -1: no socket */
    loop_timer next;  /* dialling: when to try the next address */
    loop_timer fail;  /* reports a failure that happened inside a call by the owner */
    err why;          /* that failure */
    struct addrinfo *addresses, *at;
    tls *tls;
    buf plain_out, out; /* plain_out: written by the owner; out: encrypted, for the socket */
    buf plain_in;
    uint64_t sent;
    uint32_t watching;
    bool paused, failed, drain_pending; /* drain_pending: call `drained` when everything is sent */
    bool write_closed;                  /* the peer no longer reads, but may have sent a response */
    bool over;                          /* the peer closed its sending side */
    bool finished;                      /* this side has closed its sending side */
    unsigned busy;                      /* callbacks in progress; freeing waits for them */
    bool dead;                          /* closed while busy */
};

/* ---- conn.c ---- */

conn *conn_new(loop *l, tls_context *t, const char *host, const conn_events *ev, err *e);
void conn_release(conn *c); /* releases socket and timers */
void conn_destroy(conn *c);
/* Every function that the loop calls starts with conn_enter and ends with conn_leave. Callbacks in
 * between may close the connection; conn_leave then frees it. */
void conn_enter(conn *c);
void conn_leave(conn *c);
void conn_report_closed(conn *c, const err *e);
NODISCARD bool conn_watch(conn *c, int fd, uint32_t events,
                          err *e); /* takes ownership of the socket, even on failure */
/* Called when the socket is connected. Starts TLS, or reports the connection as open. */
NODISCARD bool conn_start(conn *c, err *e);

/* ---- conn_dial.c ---- */

void conn_on_dialled(conn *c);        /* called when connect succeeded or failed */
void conn_on_next_address(void *ctx); /* called when the current address takes too long */
