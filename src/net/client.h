/* net/client.h - an HTTP client for one destination: one persistent connection, one request at a
 * time.  TLS negotiates HTTP/1.1 or HTTP/2 (ALPN); in plaintext the caller chooses.  Runs on a
 * loop.  No call blocks, except for reading certificate files and for name lookup (net/conn.h). */
#pragma once
#include "net/loop.h"
#include "net/message.h"
#include "net/tls.h"
#include "net/url.h"

typedef struct http_client http_client;

/* A mismatch between client and peer that explains a failure. */
typedef enum http_mismatch {
    HTTP_MATCH,
    HTTP_PEER_PLAINTEXT,  /* the client uses TLS */
    HTTP_PEER_SILENT,     /* the client uses TLS; the peer hung up, and may use plaintext */
    HTTP_PEER_TLS,        /* the client uses plaintext */
    HTTP_PEER_UNTRUSTED,  /* its certificate is not trusted */
    HTTP_PEER_TLS_FAILED, /* no common version, client certificate rejected, ... */
    HTTP_PEER_HTTP1,      /* the client requires HTTP/2 */
    HTTP_PEER_HTTP2,      /* the client uses HTTP/1.1 */
} http_mismatch;

typedef struct http_client_opts {
    url to;           /* host, port and tls are used and copied */
    tls_context *tls; /* for https; must outlive the client */
    bool h2;          /* require HTTP/2, for gRPC; in plaintext with prior knowledge */
    size_t max_body;  /* of a response; 0: HTTP_MAX_RESPONSE */

    /* Called from the loop once for every http_client_send.  `m` is the response, valid until the
     * next send, or NULL on failure. e->code of a failure:
     *   ERR_SYS          no response: network failure, disconnect, timeout; may be retried
     *   ERR_UNSUPPORTED  a mismatch: plaintext and TLS, a certificate, HTTP/1.1 instead of HTTP/2
     *   ERR_LIMIT        the response is too large
     *   ERR_MALFORMED    the peer did not send valid HTTP
     * The callback may send the next request as its last action. */
    void (*done)(void *ctx, const http_message *m, const err *e);
    void *ctx;
} http_client_opts;

typedef struct http_request {
    str method, path;
    const http_header *head; /* names in lower case */
    size_t n_head;
    str body[2];      /* sent one after the other */
    uint64_t timeout; /* ns for the whole exchange, connecting included; 0: none */
} http_request;

NODISCARD http_client *http_client_open(loop *l, const http_client_opts *o, err *e);
void http_client_close(http_client *c); /* cancels an open request without calling `done` */

/* Sends a request; the views in *r must stay valid until `done` is called.  Only one request may be
 * open. */
void http_client_send(http_client *c, const http_request *r);

/* Returns the number of bytes received since the last request was sent, to detect progress. */
uint64_t http_client_received(const http_client *c);

/* Returns the mismatch that made the last request fail, if any. */
http_mismatch http_client_mismatch(const http_client *c);

/* Returns "localhost:4317", as in errors and the Host header. */
const char *http_client_authority(const http_client *c);
