/* net/client.h - an HTTP client for one destination: one connection that is kept, one request at a time.
 *
 * HTTP/1.1 or HTTP/2; over TLS the two sides agree (ALPN), in plaintext the caller says which.  Lives on a
 * loop; no call but http_client_open's of files ever waits, except for a name server (net/conn.h). */
#pragma once
#include "net/loop.h"
#include "net/message.h"
#include "net/tls.h"
#include "net/url.h"

typedef struct http_client http_client;

/* What the peer turned out to be, where that explains a failure. */
typedef enum http_misfit {
    HTTP_FITS,
    HTTP_PEER_PLAINTEXT,  /* we speak TLS */
    HTTP_PEER_MUTE,       /* we speak TLS, it hung up: perhaps it does not */
    HTTP_PEER_TLS,        /* we speak plaintext */
    HTTP_PEER_UNTRUSTED,  /* its certificate */
    HTTP_PEER_TLS_FAILED, /* no common version, our certificate is not welcome, ... */
    HTTP_PEER_HTTP1,      /* we need HTTP/2 */
    HTTP_PEER_HTTP2,      /* we speak HTTP/1.1 */
} http_misfit;

typedef struct http_client_opts {
    url to;           /* host, port and tls are used; copied */
    tls_context *tls; /* for https; must outlive the client */
    bool h2;          /* HTTP/2 and nothing else: gRPC.  Plaintext: with prior knowledge */
    size_t max_body;  /* of a response; 0: HTTP_MAX_ANSWER */

    /* Called once for every http_client_send, from the loop.  m: the response, valid until the next send, or
     * NULL and `e` says why:
     *   ERR_SYS          no answer: the network, the peer went away, the time is over; worth another try
     *   ERR_UNSUPPORTED  the two cannot talk: plaintext and TLS, a certificate, HTTP/1.1 where HTTP/2 must be
     *   ERR_LIMIT        the response is too large
     *   ERR_MALFORMED    what came is no HTTP
     * The next request may be sent from inside, as the last thing. */
    void (*done)(void *who, const http_message *m, const err *e);
    void *who;
} http_client_opts;

typedef struct http_request {
    str method, path;
    const http_header *head; /* names in lower case */
    size_t n_head;
    str body[2];      /* one behind the other */
    uint64_t timeout; /* ns for all of it, connecting included; 0: none */
} http_request;

NODISCARD http_client *http_client_open(loop *l, const http_client_opts *o, err *e);
void http_client_close(http_client *c); /* a request under way is forgotten */

/* Sends; the views in *r must live until done.  Only when none is under way. */
void http_client_send(http_client *c, const http_request *r);

/* Bytes that came since the last request was sent: is it still coming? */
uint64_t http_client_heard(const http_client *c);

/* Of the last request. */
http_misfit http_client_misfit(const http_client *c);

/* "localhost:4317", as written in errors and the Host header. */
const char *http_client_authority(const http_client *c);
