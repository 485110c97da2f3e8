/* net/tls.h - TLS 1.2 and 1.3 with OpenSSL: bytes in, bytes out, no sockets.
 *
 *   from the peer ──tls_feed──► plain text        plain text ──tls_seal──► for the peer
 *                      └──────► for the peer (handshake)
 *
 * Client and server sessions are one type; the context decides which. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

typedef struct tls_context tls_context; /* shared by the sessions of one destination or listener */
typedef struct tls tls;

typedef struct tls_files {
    /* PEM file with CAs to trust.  NULL: the system's CAs (client), no client certificates
     * (server). */
    const char *ca;
    const char *cert; /* PEM file with this side's certificate chain; NULL: none (client) */
    const char *key;  /* PEM file; NULL: the key is in `cert` */
} tls_files;

/* `alpn` lists protocol names separated by spaces, preferred first ("h2 http/1.1").  A server with
 * a CA requires client certificates.  Returns NULL on failure; the message of ERR_SYS names the
 * file. */
NODISCARD tls_context *tls_context_open(bool server, const tls_files *files, const char *alpn,
                                        err *e);
void tls_context_close(tls_context *c); /* open sessions stay valid; call it in their thread */

/* Opens a session.  A client checks the certificate against `host` (a name or an address); a server
 * passes NULL. */
NODISCARD tls *tls_open(tls_context *c, const char *host, err *e);
void tls_free(tls *t);

/* Processes bytes from the peer.  Without bytes, begins the handshake of a client.  Appends
 * decrypted bytes to `plain` and bytes to send to `wire`, which may hold an alert after a failure.
 * ERR_UNSUPPORTED: a permanent mismatch (no TLS, an untrusted certificate, no common version).
 * ERR_MALFORMED: invalid records. */
NODISCARD bool tls_feed(tls *t, str bytes, buf *plain, buf *wire, err *e);
NODISCARD bool tls_seal(tls *t, str plain, buf *wire, err *e); /* after the handshake */
void tls_end(tls *t, buf *wire);                               /* close_notify */

/* Why tls_feed failed, for advice. */
typedef enum tls_failure { TLS_OK, TLS_PLAINTEXT, TLS_UNTRUSTED, TLS_FAILED } tls_failure;
tls_failure tls_failure_of(const tls *t);

bool tls_ready(const tls *t); /* the handshake is complete */
bool tls_ended(const tls *t); /* the peer sent close_notify */
str tls_alpn(const tls *t);   /* the negotiated protocol, or "" */

/* Returns whether the first byte of a stream begins a TLS record (handshake or alert). */
static inline bool tls_begins(unsigned char first) { return first == 0x16 || first == 0x15; }
