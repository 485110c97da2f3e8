/* net/h2_session.h - internals of an HTTP/2 session, shared by its files.
 *
 *   h2.c          the session: open, bytes in, bytes out, close
 *   h2_stream.c   its streams, in two lists: open, or finished and not reported
 *   h2_receive.c  callbacks of nghttp2, which fill the message of a stream
 *   h2_send.c     requests and responses */
#pragma once
#include "net/h2.h"

#include <nghttp2/nghttp2.h>

enum {
    H2_MAX_SENT = 64,         /* limit of headers in a sent message */
    H2_STREAM_COST = 8 << 10, /* accounted for each stream in addition to its contents */
};

typedef struct h2_stream {
    struct h2_stream *next, **back; /* in one of the session's lists */
    int32_t id;
    http_message m;
    str body[2]; /* still to be sent */
    http_header trailers[H2_MAX_SENT];
    size_t n_trailers;
    err why;
    bool reported; /* its end was reported to the owner, or need not be */
    bool closed, unprocessed;
    bool headed; /* server: the headers are complete */
    bool ended;  /* the peer's half is complete */
    bool out;    /* server: delivered to the owner ... */
    bool held;   /* ... and without a response yet */
    buf owned;   /* server: body of the response */
    spill file;  /* server: body of the response, from file_at on */
    uint64_t file_at;
    size_t owes;   /* server: included in the session's `owes` */
    bool lingers;  /* server: has its response, and the request is still arriving ... */
    bool old;      /* ... since before the last h2_reset_lingering */
    size_t passed; /* request bytes discarded since the response */
    bool trailing; /* the current headers are trailers */
} h2_stream;

struct h2 {
    nghttp2_session *ng;
    h2_opts o;
    h2_events ev;
    h2_stream *streams;
    h2_stream *finished;   /* in order of completion */
    bool delivering, dead; /* dead: freed by a callback; h2_deliver releases it */
    bool goaway;
    err why;              /* the peer exceeded a limit of the session */
    uint32_t idle_frames; /* server: frames since the last request that did not belong to one */
    uint32_t broken;      /* server: streams that the server reset, minus those with a response */
    size_t n_reading;     /* server: incomplete requests */
    size_t owes;          /* server: memory of pending responses */
    uint64_t files;       /* server: bytes of the files of its streams */
    size_t n_lingering;   /* server: streams that linger */
    uint64_t received;    /* server: bytes of requests so far */
    h2_work done;         /* work done in the current h2_feed_some */
    const h2_work *most;  /* its limit; NULL: none */
    struct {
        size_t wire, decoded; /* bytes of the current header block */
        bool begun;           /* nghttp2 reports its headers */
    } block;
    size_t ignored; /* wire bytes of blocks that nghttp2 decodes and discards */
};

/* Returns whether h2_feed_some has reached its limit of header bytes or requests. */
static inline bool h2_is_headed(const h2 *s)
{
    return s->most && (s->done.heads >= s->most->heads || s->done.requests >= s->most->requests);
}

/* Returns NULL when nghttp2 has closed the stream. */
h2_stream *h2_stream_of(h2 *s, int32_t id);
/* Adds an open stream. Returns NULL when memory runs out. */
h2_stream *h2_stream_new(h2 *s);
void h2_stream_free(h2 *s, h2_stream *t);
void h2_stream_close_file(h2 *s, h2_stream *t);
void h2_stream_free_all(h2_stream *t); /* frees all streams of a list */
/* Queues a stream for h2_deliver, because callbacks of nghttp2 must not call nghttp2. */
void h2_stream_finish(h2 *s, h2_stream *t);
/* Called when the request (server) or response (client) is complete or will not continue. */
void h2_stream_end(h2 *s, h2_stream *t);

/* Registers the callbacks that run during h2_feed and h2_take. */
void h2_receive_callbacks(nghttp2_session_callbacks *cb);
