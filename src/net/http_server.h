/* net/http_server.h - an HTTP server: HTTP/2 and HTTP/1.1, with and without TLS, on the same
 * sockets.
 *
 *   accept ─ first byte ─┬ TLS ─ handshake ─┐
 *                        └──────────────────┴─ first bytes ─┬ HTTP/2 ──┐
 *                                                           └ HTTP/1.1 ┴─ admit ─ request ... http_respond
 *
 * The server delivers complete requests in bounded memory; the owner responds now or later, in the
 * loop's thread.  Slow, idle and flooding clients are closed by the limits below, and counted.
 * At the limit of connections, the one that was idle longest is closed, otherwise the one that has
 * been sending its headers longest. */
#pragma once
#include "net/loop.h"
#include "net/message.h"
#include "net/spill.h"
#include "net/tls.h"

typedef struct http_server http_server;
typedef struct http_exchange http_exchange; /* a request without a response yet */

enum { HTTP_CONNECTIONS = 4096 };

/* 0 means the default, which each comment states last. */
typedef struct http_limits {
    uint32_t connections; /* open connections; HTTP_CONNECTIONS */
    uint32_t streams;     /* concurrent requests of one HTTP/2 connection; 100 */
    size_t body;          /* bytes of one body unless `admit` changes it; 64 MiB */
    size_t bodies;        /* bytes of all requests in memory; 128 MiB */
    size_t responses;     /* bytes of responses in memory that wait for their clients; 64 MiB */
    uint64_t files;       /* bytes of responses that wait in files (spill.h); 1 GiB */
    uint64_t head_ns;     /* for the TLS handshake and for the headers; 10 s */
    uint64_t idle_ns;     /* without a request; 2 min */
    uint64_t stall_ns;    /* below min_rate in either direction; 20 s */
    uint32_t min_rate;    /* bytes per second; 1 KiB */
} http_limits;

#define HTTP_SERVER_COUNTERS(X)                                                                    \
    X(accepted, "connections accepted")                                                            \
    X(closed_full, "connections closed because there were too many")                               \
    X(closed_idle, "connections closed because they sent no request for too long")                 \
    X(closed_slow, "connections closed because they were too slow")                                \
    X(closed_broken, "connections closed because of invalid HTTP or TLS, or a flood")              \
    X(no_descriptors, "times that no descriptor was left for a connection")                        \
    X(requests_h1, "requests over HTTP/1.1")                                                       \
    X(requests_h2, "requests over HTTP/2")                                                         \
    X(too_large, "requests larger than the limit")                                                 \
    X(pressed, "requests rejected because requests in memory reached the limit")                   \
    X(closed_owed, "connections closed because they did not read their responses")                 \
    X(cut, "responses cut off because their temporary file could not be read")                     \
    X(gone, "requests whose sender disconnected before the response")                              \
    X(bytes_in, "bytes received")                                                                  \
    X(bytes_out, "bytes of response bodies sent")

/* The largest HTTP/2 work in any turn of the loop so far.  It is bounded whatever clients send. */
#define HTTP_SERVER_PEAKS(X)                                                                       \
    X(turn_frames, "most HTTP/2 frames of all connections in one turn of the event loop")          \
    X(turn_requests, "most HTTP/2 requests begun in one turn of the event loop")                   \
    X(turn_head_bytes, "most header bytes decoded in one turn of the event loop")

typedef struct http_server_counts {
#define X(name, what) uint64_t name;
    HTTP_SERVER_COUNTERS(X)
    HTTP_SERVER_PEAKS(X)
#undef X
    uint64_t connections; /* now */
    uint64_t exchanges;   /* now */
    uint64_t held;        /* bytes of requests in memory, now */
    uint64_t owed;        /* bytes of responses in memory, now */
    uint64_t file_bytes;  /* bytes of responses that wait in files, now */
} http_server_counts;

typedef struct http_server_events {
    /* The headers of a request are complete.  The callback may change m->body.limit, or set
     * m->failure so that the body is not read.  May be NULL. */
    void (*admit)(void *ctx, http_message *m);
    /* A request arrived.  The owner responds now or later. http_exchange_message(x)->failure is set
     * when the request is incomplete. */
    void (*request)(void *ctx, http_exchange *x);
    /* The client of a request without a response has disconnected; x is freed after this call. */
    void (*gone)(void *ctx, http_exchange *x);
    /* The client closed its sending side.  It may still wait for the response, or may have
     * disconnected.  May be NULL. */
    void (*ended)(void *ctx, http_exchange *x);
    void *ctx;
    /* A response was truncated (counter `cut`).  May be NULL. */
    void (*cut)(void *ctx, const char *peer);
} http_server_events;

/* Opens a server without listeners.  Returns NULL and sets *e on failure. */
NODISCARD http_server *http_server_open(loop *l, const http_limits *o, const http_server_events *ev,
                                        err *e);

/* Accepts connections on a listening socket and takes ownership of it, even on failure.  If `t` is
 * not NULL, clients may use TLS; if `plain`, plaintext. http_server_tls may replace t. */
NODISCARD bool http_server_listen(http_server *s, int fd, tls_context *t, bool plain, err *e);

/* Changes the limits.  The new times and rates also apply to open connections. */
void http_server_limits(http_server *s, const http_limits *o);

/* Changes the TLS context of new connections. */
void http_server_tls(http_server *s, tls_context *t);

/* Accepts no more connections.  Open requests get responses, and so do requests that arrive within
 * a quarter of a second on recently busy connections.  Then each connection is closed (GOAWAY,
 * Connection: close). */
void http_server_drain(http_server *s);
bool http_server_idle(const http_server *s); /* no connection is left */

/* Calls `gone` for all open requests, sends as much of the pending responses as the sockets accept
 * at once, and frees the server. */
void http_server_close(http_server *s);
http_server_counts http_server_count(const http_server *s);

/* ---- one request ---- */

http_message *http_exchange_message(http_exchange *x);  /* valid until the response */
const char *http_exchange_peer(const http_exchange *x); /* "127.0.0.1:51234" */
bool http_exchange_h2(const http_exchange *x);
/* Returns the address of a pointer that the owner may use. */
void **http_exchange_user(http_exchange *x);

typedef struct http_response {
    unsigned status;
    const http_header *head; /* names in lower case, without content-length */
    size_t n_head;
    buf *body;                   /* http_respond takes ownership; may be NULL */
    spill *file;                 /* instead of body; http_respond takes ownership; may be NULL */
    const http_header *trailers; /* HTTP/2 only */
    size_t n_trailers;
} http_response;

/* Returns whether a response of n bytes fits http_limits.responses. n is 0 when the size is
 * unknown; it then counts as a sixteenth of the limit, since large responses wait in files.  One
 * connection may use a quarter of the limit, or have a single response of any size.  One large
 * response may exceed the limit while it is the only one.  Responses that are sent without this
 * check delay others; when they exceed the limit by a quarter, the connection with the most pending
 * bytes is closed. */
bool http_exchange_fits(const http_exchange *x, size_t n);

/* Returns whether a response of n bytes in a file fits http_limits.files and the share of its
 * connection. */
bool http_exchange_fits_file(const http_exchange *x, uint64_t n);
/* Returns the size of the largest possible file, http_limits.files. */
uint64_t http_exchange_max_file(const http_exchange *x);

/* Responds and frees x.  The body is omitted for HEAD. */
void http_respond(http_exchange *x, const http_response *r);
