/* net/tls.h - TLS 1.2 and 1.3 by OpenSSL, as bytes in and bytes out: no socket of its own.
 *
 *   from the peer ──tls_feed──► plain text        plain text ──tls_seal──► for the peer
 *                      └──────► for the peer (handshake)
 *
 * Client and server sessions are the same type; the context knows which. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

typedef struct tls_context tls_context; /* shared by the sessions of one destination or listener */
typedef struct tls tls;

typedef struct tls_files {
    const char
        *ca; /* PEM; whom to trust.  NULL: the machine's own list (client), nobody (server) */
    const char *cert; /* PEM chain, own certificate; NULL: none (client) */
    const char *key;  /* PEM; NULL: in `cert` */
} tls_files;

/* `alpn`: names with a blank between, the preferred first ("h2 http/1.1").  A server with a CA demands
 * certificates of its clients.  NULL: `e` says which file is at fault (ERR_SYS) or what else. */
NODISCARD tls_context *tls_context_open(bool server, const tls_files *files, const char *alpn,
                                        err *e);
void tls_context_close(tls_context *c); /* sessions keep what they need of it; same thread */

/* A session; a client checks that the certificate is for `host` (a name or an address), a server passes
 * NULL. */
NODISCARD tls *tls_open(tls_context *c, const char *host, err *e);
void tls_free(tls *t);

/* Takes bytes of the peer (none: begins the handshake of a client).  Appends what they mean to `plain` and
 * what has to be sent to `wire`; `wire` may hold an alert when it fails.
 * ERR_UNSUPPORTED: this peer will not do, however often it is asked: it speaks no TLS, its certificate is
 * not to be trusted, it knows no version of ours.  ERR_MALFORMED: broken records. */
NODISCARD bool tls_feed(tls *t, str bytes, buf *plain, buf *wire, err *e);
NODISCARD bool tls_seal(tls *t, str plain, buf *wire, err *e); /* after the handshake */
void tls_end(tls *t, buf *wire);                               /* "no more from me" */

/* What made tls_feed give up, for advice. */
typedef enum tls_trouble { TLS_FINE, TLS_PLAINTEXT, TLS_UNTRUSTED, TLS_FAILED } tls_trouble;
tls_trouble tls_trouble_of(const tls *t);

bool tls_ready(const tls *t); /* the handshake is complete */
bool tls_ended(const tls *t); /* the peer said "no more from me" */
str tls_alpn(const tls *t);   /* what was agreed on, or "" */

/* The first byte of a stream tells TLS (a handshake or alert record) from anything else. */
static inline bool tls_begins(unsigned char first) { return first == 0x16 || first == 0x15; }
