/* net/h2.h - an HTTP/2 session by nghttp2, as bytes in and bytes out.  Client and server are one type.
 *
 * Every stream fills an http_message; when the peer's half is complete it is handed to `done`.  Bodies are
 * held whole and bounded (max_body); a stream that exceeds it is reset with ERR_LIMIT. */
#pragma once
#include "net/message.h"
#include "net/spill.h"

typedef struct h2 h2;

typedef struct h2_events {
    /* The peer's message of this stream is complete: a response, or (server) a request to answer. */
    void (*done)(void *who, int32_t stream, http_message *m);
    /* The stream ended before that (client), or before it was answered (server; also one that was `done`):
     * e->code ERR_SYS when the peer reset it or went away, ERR_LIMIT.
     * unprocessed: the peer promises that it did nothing with the request. */
    void (*failed)(void *who, int32_t stream, bool unprocessed, const err *e);
    /* Server: a head is there.  Sets the limit of the body, and may set m->trouble: then no body is read and the
     * request is done.  Nothing else of the session may be called from it.  NULL: everybody is welcome. */
    void (*admit)(void *who, http_message *m);
    void *who;
} h2_events;

typedef struct h2_opts {
    bool server;
    size_t max_body;      /* bytes of a message that is received; 0: HTTP_MAX_ANSWER */
    uint32_t max_streams; /* at a time, from the peer; 0: 100 */
    http_pool *pool;      /* server: bodies count there; may be NULL */
    uint64_t
        *cut; /* server: counts responses whose file cannot be read: they are reset.  May be NULL */
} h2_opts;

/* NULL: out of memory.  h2_take has the first bytes at once. */
NODISCARD h2 *h2_open(const h2_opts *o, const h2_events *ev, err *e);
void h2_free(h2 *s); /* no events */

/* Bytes of the peer.  ERR_MALFORMED: the session is over.  ERR_LIMIT: so it is, because the peer sent a header block over the
 * limit, or frames that ask for work and are no requests (floods of pings, settings, window updates, resets). */
NODISCARD bool h2_feed(h2 *s, str bytes, err *e);

/* What bytes of the peer cost: a few of them may be thousands of frames, or megabytes of headers (HPACK). */
typedef struct h2_work {
    size_t frames;
    size_t
        requests; /* begun, without refused streams: the response costs more than the bytes of its request */
    size_t
        heads; /* bytes of header blocks, decoded, each header with 32 bytes more (RFC 9113 6.5.2) */
} h2_work;

/* The same, in turns: stops after about `most`, *bytes keeps the rest.  *done: what it cost. */
NODISCARD bool h2_feed_some(h2 *s, str *bytes, const h2_work *most, h2_work *done, err *e);
/* Appends what has to go to the peer now, until `out` has about `most` bytes; 0: all of it. */
NODISCARD bool h2_take(h2 *s, buf *out, size_t most, err *e);
/* Calls the events of what happened in h2_feed and h2_take; they may use the session and free it. */
void h2_deliver(h2 *s);
/* Nothing more can come of it: no stream is open and no new one may be. */
bool h2_over(const h2 *s);

/* What to send; head[] begins with the pseudo headers.  The views of `body` (one behind the other) must
 * live until done or failed; the rest is copied. */
typedef struct h2_send {
    const http_header *head;
    size_t n_head;
    str body[2];
    buf *owned;  /* server: sent instead of body[], taken over; may be NULL */
    spill *file; /* server: sent instead of these, taken over; may be NULL */
    const http_header *trailers;
    size_t n_trailers;
} h2_send;

/* A new stream; its number, or -1 and `e`. */
NODISCARD int32_t h2_request(h2 *s, const h2_send *r, err *e);
/* Answers a stream.  One whose body is still coming lingers: a reset right behind the response makes some clients (curl 7.88) drop
 * both.  What comes is dropped, up to max_body.  ERR_MISMATCH: it is gone; the others are
 * well. */
NODISCARD bool h2_respond(h2 *s, int32_t stream, const h2_send *r, err *e);
/* Server: streams that linger, and their end: resets (NO_ERROR) those that did so at the last call. */
size_t h2_lingering(const h2 *s);
void h2_reset_lingering(h2 *s);
/* Server: asks for no new streams; those that are on their way are taken all the same. */
void h2_announce_drain(h2 *s);
/* Server: no new streams; those that are open are answered. */
void h2_drain(h2 *s);
/* Server: streams that the peer has not ended yet: something is on its way. */
size_t h2_reading(const h2 *s);
/* Server: bytes that answers hold, each until all of it is sent; and bytes of requests that have come so far. */
size_t h2_owes(const h2 *s);
uint64_t h2_heard(const h2 *s);
/* Server: bytes of the files of responses, each until all of it is sent. */
uint64_t h2_files(const h2 *s);
/* Server: requests that were let go for others (http_pool) are done: h2_deliver hands them out. */
void h2_end_troubled(h2 *s);
