/* net/http_server.h - the other side of net/client.h: requests in, answers out, over TLS or not, HTTP/2 or HTTP/1.1.
 *
 *   accept ─ first byte ─┬ TLS ─ handshake ─┐
 *                        └──────────────────┴─ first bytes ─┬ HTTP/2 ──┐
 *                                                           └ HTTP/1.1 ┴─ admit ─ request ... http_answer
 *
 * Requests are handed out whole, in bounded memory, and answered at once or later; all of it in the loop's thread.  A client that
 * is slow, idle, or floods is closed by the limits below, and counted; a full house closes the connection that was idle longest,
 * otherwise the one that has been at its head longest. */
#pragma once
#include "net/loop.h"
#include "net/message.h"
#include "net/spill.h"
#include "net/tls.h"

typedef struct http_server http_server;
typedef struct http_exchange http_exchange; /* a request that has no answer yet */

enum { HTTP_CONNECTIONS = 4096 };

/* Zeros are the defaults. */
typedef struct http_limits {
    uint32_t connections; /* at a time; HTTP_CONNECTIONS */
    uint32_t streams;     /* of one HTTP/2 connection at a time; 100 */
    size_t body;          /* bytes of one body unless `admit` says otherwise; 64 MiB */
    size_t bodies;        /* bytes of all requests that are held; 128 MiB */
    size_t answers;       /* bytes that answers hold which wait for those who asked; 64 MiB */
    uint64_t files;       /* bytes of responses that wait in files (spill.h); 1 GiB */
    uint64_t head_ns;     /* for the handshake and for a head; 10 s */
    uint64_t idle_ns;     /* without a request; 2 min */
    uint64_t stall_ns;    /* without min_rate in either direction; 20 s */
    uint32_t min_rate;    /* bytes a second; 1 KiB */
} http_limits;

#define HTTP_SERVER_COUNTERS(X)                                                                    \
    X(accepted, "connections taken")                                                               \
    X(closed_full, "connections closed because there were too many")                               \
    X(closed_idle, "connections closed because nothing was asked on them")                         \
    X(closed_slow, "connections closed because they were too slow")                                \
    X(closed_broken, "connections closed because they spoke neither HTTP nor TLS, or flooded")     \
    X(no_descriptors, "times there was no descriptor left for a connection")                       \
    X(requests_h1, "requests over HTTP/1.1")                                                       \
    X(requests_h2, "requests over HTTP/2")                                                         \
    X(too_large, "requests over the limit of bytes")                                               \
    X(pressed, "requests refused because too many bodies were held")                               \
    X(closed_owed, "connections closed because they did not take their answers while many waited") \
    X(cut, "responses that broke off: the file they waited in could not be read")                  \
    X(gone, "requests whose sender left before the answer")                                        \
    X(bytes_in, "bytes of requests, as they came")                                                 \
    X(bytes_out, "bytes of bodies sent")

/* Work of HTTP/2 in the largest turn of the loop so far: whatever clients send, it stays bounded. */
#define HTTP_SERVER_PEAKS(X)                                                                       \
    X(turn_frames, "frames taken from all connections in the largest turn of the loop so far")     \
    X(turn_requests, "requests over HTTP/2 begun in the largest turn of the loop so far")          \
    X(turn_head_bytes, "bytes of headers decoded in the largest turn of the loop so far")

typedef struct http_server_counts {
#define X(name, what) uint64_t name;
    HTTP_SERVER_COUNTERS(X)
    HTTP_SERVER_PEAKS(X)
#undef X
    uint64_t connections; /* now */
    uint64_t exchanges;   /* now */
    uint64_t held;        /* bytes of requests, now */
    uint64_t owed;        /* bytes that answers hold, now */
    uint64_t file_bytes;  /* bytes of responses that wait in files, now */
} http_server_counts;

typedef struct http_server_events {
    /* The head of a request is there: may lower or raise m->body.limit, and may set m->trouble so that no body is read.
     * May be NULL. */
    void (*admit)(void *who, http_message *m);
    /* A request to answer, now or later; http_exchange_message(x)->trouble says when it is not whole. */
    void (*request)(void *who, http_exchange *x);
    /* The sender of an unanswered request is gone: forget it, it is freed after this. */
    void (*gone)(void *who, http_exchange *x);
    /* It says no more: it may wait for the answer, or be gone without our knowing.  May be NULL. */
    void (*ended)(void *who, http_exchange *x);
    void *who;
    /* A response broke off in the middle (`cut`).  May be NULL. */
    void (*cut)(void *who, const char *peer);
} http_server_events;

/* Nothing listens yet.  NULL: `e` says why. */
NODISCARD http_server *http_server_open(loop *l, const http_limits *o, const http_server_events *ev,
                                        err *e);

/* Takes connections of this listening socket, which it owns from here on (also when it fails).  `t`: clients may speak TLS;
 * `plain`: they may go without.  t may be replaced by http_server_tls. */
NODISCARD bool http_server_listen(http_server *s, int fd, tls_context *t, bool plain, err *e);

/* For connections from now on; what is open is held to the new times and rates. */
void http_server_limits(http_server *s, const http_limits *o);

/* For connections from now on. */
void http_server_tls(http_server *s, tls_context *t);

/* Takes no more connections.  Requests that are under way, or come within a quarter of a second on connections that were busy, are
 * answered; then each connection ends (GOAWAY, Connection: close), whether or not its client pauses. */
void http_server_drain(http_server *s);
bool http_server_idle(const http_server *s); /* no connection is left */

/* `gone` for all that is unanswered; what was answered goes out as far as sockets take it without waiting. */
void http_server_close(http_server *s);
http_server_counts http_server_count(const http_server *s);

/* ---- one request ---- */

http_message *http_exchange_message(http_exchange *x);  /* until it is answered */
const char *http_exchange_peer(const http_exchange *x); /* "127.0.0.1:51234" */
bool http_exchange_h2(const http_exchange *x);
/* The caller's own. */
void **http_exchange_user(http_exchange *x);

typedef struct http_response {
    unsigned status;
    const http_header *head; /* names in lower case; content-length is ours */
    size_t n_head;
    buf *body;                   /* taken over; may be NULL */
    spill *file;                 /* instead of body; taken over; may be NULL */
    const http_header *trailers; /* HTTP/2 only */
    size_t n_trailers;
} http_response;

/* Is there room for an answer that holds n bytes (http_limits.answers)?  0: nobody knows yet; a sixteenth of the limit is what it
 * takes, since large ones wait in files.  A connection has a quarter of the limit, so that no client takes the room of all, or one
 * answer.  One that is large has room besides all others, while it is the only such one.  Those that are answered without asking
 * make others wait, and beyond another quarter cost the connection that holds most. */
bool http_exchange_fits(const http_exchange *x, size_t n);

/* Is there room for one that waits in a file (http_limits.files)?  It counts against its own connection first. */
bool http_exchange_fits_file(const http_exchange *x, uint64_t n);
/* The largest file that may ever wait: http_limits.files. */
uint64_t http_exchange_max_file(const http_exchange *x);

/* Answers; x is gone afterwards.  HEAD gets no body. */
void http_answer(http_exchange *x, const http_response *r);
