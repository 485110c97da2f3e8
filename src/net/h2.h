/* net/h2.h - an HTTP/2 session over nghttp2: bytes in, bytes out.  Client and server are one type.
 * Every stream fills an http_message, which is passed to `done` when the peer's half is complete.
 * Bodies are kept in memory, up to max_body; a stream with a larger body is reset with
 * ERR_LIMIT. */
#pragma once
#include "net/message.h"
#include "net/spill.h"

typedef struct h2 h2;

typedef struct h2_events {
    /* The peer's message of this stream is complete: a response, or (server) a request. */
    void (*done)(void *ctx, int32_t stream, http_message *m);
    /* Client: the stream ended before `done`.  Server: the stream ended before its response,
     * possibly after `done`. e->code is ERR_SYS when the peer reset the stream or disconnected, or
     * ERR_LIMIT. unprocessed: the peer guarantees that it did not process the request. */
    void (*failed)(void *ctx, int32_t stream, bool unprocessed, const err *e);
    /* Server: the headers are complete.  The callback may change m->body.limit, or set m->failure
     * so that the body is not read.  It must not call functions of the session.  NULL: accept all
     * requests. */
    void (*admit)(void *ctx, http_message *m);
    void *ctx;
} h2_events;

typedef struct h2_opts {
    bool server;
    size_t max_body;      /* bytes of a received message; 0: HTTP_MAX_RESPONSE */
    uint32_t max_streams; /* concurrent streams of the peer; 0: 100 */
    http_pool *pool;      /* server: accounts for bodies; may be NULL */
    /* Server: counts responses that were reset because their file cannot be read; may be NULL. */
    uint64_t *cut;
} h2_opts;

/* Returns NULL when memory runs out. h2_take can be called at once for the first bytes to send. */
NODISCARD h2 *h2_open(const h2_opts *o, const h2_events *ev, err *e);
void h2_free(h2 *s); /* no events */

/* Processes bytes from the peer.  An error ends the session.  ERR_MALFORMED: invalid HTTP/2.
 * ERR_LIMIT: a header block exceeds the limit, or the peer sends too many control frames (PING,
 * SETTINGS, WINDOW_UPDATE, RST_STREAM). */
NODISCARD bool h2_feed(h2 *s, str bytes, err *e);

/* The work that received bytes caused.  A few bytes may contain thousands of frames, or expand to
 * megabytes of headers (HPACK). */
typedef struct h2_work {
    size_t frames;
    /* Requests begun; refused streams do not count. */
    size_t requests;
    /* Decoded header bytes, plus 32 for each header (RFC 9113 6.5.2). */
    size_t heads;
} h2_work;

/* Like h2_feed, but stops after about `most` work and leaves the rest in *bytes.  Sets *done to the
 * work done. */
NODISCARD bool h2_feed_some(h2 *s, str *bytes, const h2_work *most, h2_work *done, err *e);
/* Appends bytes to send until `out` has about `most` bytes; with 0, appends everything. */
NODISCARD bool h2_take(h2 *s, buf *out, size_t most, err *e);
/* Calls the callbacks for the events of h2_feed and h2_take.  Callbacks may use and free the
 * session. */
void h2_deliver(h2 *s);
/* Returns whether the session is finished: no stream is open, and none can be opened. */
bool h2_over(const h2 *s);

/* A message to send; head[] begins with the pseudo headers.  The parts of `body` are sent one after
 * the other and must stay valid until `done` or `failed` is called; everything else is copied. */
typedef struct h2_send {
    const http_header *head;
    size_t n_head;
    str body[2];
    buf *owned;  /* server: sent instead of body[]; takes ownership; may be NULL */
    spill *file; /* server: sent instead of both; takes ownership; may be NULL */
    const http_header *trailers;
    size_t n_trailers;
} h2_send;

/* Opens a stream.  Returns its number, or -1 on failure. */
NODISCARD int32_t h2_request(h2 *s, const h2_send *r, err *e);
/* Responds to a stream.  If the request's body is still arriving, the stream is not reset but
 * lingers: the session discards the rest of the body, up to max_body.  The reason is that some
 * clients (curl 7.88) discard a response that is followed by a reset.  ERR_MISMATCH: the stream is
 * closed; other streams are unaffected. */
NODISCARD bool h2_respond(h2 *s, int32_t stream, const h2_send *r, err *e);
/* Server: h2_lingering returns the number of lingering streams. h2_reset_lingering resets
 * (NO_ERROR) those that already lingered when it was last called. */
size_t h2_lingering(const h2 *s);
void h2_reset_lingering(h2 *s);
/* Server: asks the peer (GOAWAY) to open no new streams, but still accepts them. */
void h2_announce_drain(h2 *s);
/* Server: accepts no new streams; open ones get their responses. */
void h2_drain(h2 *s);
/* Server: returns the number of streams whose request is incomplete. */
size_t h2_reading(const h2 *s);
/* Server: h2_owes returns the memory of responses that are not completely sent, h2_received the
 * bytes of requests received so far. */
size_t h2_owes(const h2 *s);
uint64_t h2_received(const h2 *s);
/* Server: returns the bytes of response files that are not completely sent. */
uint64_t h2_files(const h2 *s);
/* Server: ends requests that the http_pool evicted; h2_deliver then reports them. */
void h2_end_failed(h2 *s);
