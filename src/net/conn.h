/* net/conn.h - one connection on a loop, with or without TLS: received bytes arrive in callbacks,
 * bytes to send are appended to a buffer.  Client (conn_dial) and server (conn_take) connections
 * behave the same once they are open.
 *
 *   dialling ─► handshake (TLS) ─► open ─► closed: one event, then the connection is freed
 *
 * Callbacks may write to the connection and close it.  None is called before conn_dial returns. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"
#include "net/tls.h"

typedef struct conn conn;

typedef struct conn_events {
    void (*open)(void *ctx, conn *c); /* may write now; tls_alpn(conn_tls(c)) is known */
    void (*data)(void *ctx, conn *c, str bytes);
    void (*drained)(void *ctx, conn *c); /* everything was sent; may be NULL */
    /* The peer closed its sending side but may still read.  Returns true to keep the connection
     * open for writing.  If it returns false or is NULL, the connection is closed. */
    bool (*ended)(void *ctx, conn *c);
    /* The connection ended; e->code is ERR_OK when the peer closed it. c is freed after this
     * call. */
    void (*closed)(void *ctx, conn *c, const err *e);
    void *ctx;
} conn_events;

/* Looks the host up and tries its addresses in turn.  The lookup may block: use numeric addresses
 * or a thread that may wait.  `t` is NULL for plaintext; the context must outlive the connection.
 * Returns NULL and sets *e on failure. */
NODISCARD conn *conn_dial(loop *l, const char *host, uint16_t port, tls_context *t,
                          const conn_events *ev, err *e);

/* Takes ownership of an accepted, non-blocking socket, even on failure. */
NODISCARD conn *conn_take(loop *l, int fd, tls_context *t, const conn_events *ev, err *e);

/* Returns the output buffer, which the next conn_flush sends. */
buf *conn_out(conn *c);
void conn_flush(conn *c);
size_t conn_unsent(const conn *c); /* bytes that the kernel has not accepted yet */
size_t conn_held(const conn *c);   /* memory of the buffers that hold them */
uint64_t conn_sent(const conn *c); /* bytes that the kernel accepted so far */
/* Returns the number of bytes that the peer acknowledged.  The kernel's send queue may hold
 * megabytes more. */
uint64_t conn_acked(const conn *c);
void conn_pause(conn *c, bool paused);    /* a paused connection does not read */
bool conn_is_write_closed(const conn *c); /* the peer no longer reads; writes are dropped */
int conn_fd(const conn *c);               /* for inspection only */
bool conn_dialled(const conn *c);         /* the peer was reached */
tls *conn_tls(const conn *c);             /* NULL: plaintext */

/* Closes the sending side; reading continues.  Closing a socket with unread bytes resets the
 * connection and discards sent data, so a server that responds early calls this first and reads for
 * a while. */
void conn_finish(conn *c);

/* Closes and frees the connection without calling `closed`.  Unsent bytes are lost. */
void conn_close(conn *c);
