/* net/conn.h - one connection on a loop, with or without TLS: bytes in by event, bytes out through a buffer.
 * A client's (conn_dial) and a server's (conn_take) behave the same once they are open.
 *
 *   dialling ─► handshake (TLS) ─► open ─► closed: the event, once, and the connection is gone
 *
 * Events may write to the connection and close it.  Nothing is called back before conn_dial returned. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"
#include "net/tls.h"

typedef struct conn conn;

typedef struct conn_events {
    void (*open)(void *who, conn *c); /* may write from now on; tls_alpn(conn_tls(c)) is known */
    void (*data)(void *who, conn *c, str bytes);
    void (*drained)(void *who, conn *c); /* all that was written went out; may be NULL */
    /* The peer says no more, and may still listen.  true: the connection stays until it is closed or broken, and reads
     * nothing; otherwise, and when this is NULL, it is over. */
    bool (*ended)(void *who, conn *c);
    /* The connection ended by itself: e->code ERR_OK when the peer was done, otherwise why.  After it the
     * connection is freed. */
    void (*closed)(void *who, conn *c, const err *e);
    void *who;
} conn_events;

/* Looks the host up (this may wait for a name server: use numbers or a thread that has the time), tries its
 * addresses in turn.  `t`: NULL for plaintext; the context must outlive the connection.  NULL: `e` says why. */
NODISCARD conn *conn_dial(loop *l, const char *host, uint16_t port, tls_context *t,
                          const conn_events *ev, err *e);

/* Takes over an accepted, non-blocking socket, also when it fails. */
NODISCARD conn *conn_take(loop *l, int fd, tls_context *t, const conn_events *ev, err *e);

/* What is appended here goes out with the next conn_flush. */
buf *conn_out(conn *c);
void conn_flush(conn *c);
size_t conn_unsent(const conn *c); /* bytes that the kernel did not take yet */
size_t conn_held(const conn *c);   /* bytes of memory that these hold: more, while some went out */
uint64_t conn_sent(const conn *c); /* bytes that it took so far */
uint64_t conn_acked(
    const conn
        *c); /* bytes that the peer acknowledged: the send queue of the kernel may hold megabytes */
void conn_pause(conn *c, bool paused); /* a paused connection reads nothing: the peer has to wait */
bool conn_deaf(const conn *c);    /* the peer takes nothing any more; what is written is dropped */
int conn_fd(const conn *c);       /* to look at */
bool conn_dialled(const conn *c); /* the peer was reached */
tls *conn_tls(const conn *c);     /* NULL: plaintext */

/* No more from us, once all has gone out; the peer may still be heard.  Closing a socket with bytes that nobody read takes back
 * what was said before: who answers early and closes says this first, and listens for a while. */
void conn_finish(conn *c);

/* Closes and frees, without an event.  What is unsent is lost. */
void conn_close(conn *c);
