/* net/h2_session.h - what the files of an HTTP/2 session share: the session, its streams, and how one ends.
 *
 *   h2.c          the session: begin, bytes in, bytes out, end
 *   h2_stream.c   its streams, in two lists: open, or finished and not told
 *   h2_receive.c  what nghttp2 tells us becomes the message of a stream
 *   h2_send.c     requests and answers */
#pragma once
#include "net/h2.h"

#include <nghttp2/nghttp2.h>

enum {
    H2_MAX_SENT = 64,         /* headers of one message that is sent */
    H2_STREAM_COST = 8 << 10, /* of a stream, beside what it says */
};

typedef struct h2_stream {
    struct h2_stream *next, **back; /* in a list of its session: open, or finished and not told */
    int32_t id;
    http_message m;
    str body[2]; /* still to be sent */
    http_header trailers[H2_MAX_SENT];
    size_t n_trailers;
    err why;
    bool told; /* it is finished, or nobody wants to know */
    bool closed, unprocessed;
    bool headed; /* server: all of the head is there */
    bool ended;  /* the peer's half is complete */
    bool out;    /* server: handed out ... */
    bool held;   /* ... and not answered */
    buf owned;   /* server: the answer's body */
    spill file;  /* server: it waits there, from file_at on */
    uint64_t file_at;
    size_t owes;   /* server: counted in the session's */
    bool lingers;  /* server: answered, and the request is still coming ... */
    bool old;      /* ... since before the last h2_reset_lingering */
    size_t passed; /* bytes that came since, and were dropped */
    bool trailing; /* the headers that arrive now are trailers */
} h2_stream;

struct h2 {
    nghttp2_session *ng;
    h2_opts o;
    h2_events ev;
    h2_stream *streams;
    h2_stream *finished;   /* the first to finish comes first */
    bool delivering, dead; /* dead: freed by an event, and h2_deliver buries it */
    bool goaway;
    err why;              /* the peer broke a limit of the whole session */
    uint32_t idle_frames; /* server */
    uint32_t broken;      /* server: streams that we had to reset, less those that were answered */
    size_t n_reading;     /* server: requests that are not complete */
    size_t owes;          /* server */
    uint64_t files;       /* server: bytes of the files of its streams */
    size_t n_lingering;   /* server: streams that linger */
    uint64_t heard;       /* server */
    h2_work done;         /* in the call of h2_feed_some that runs */
    const h2_work *most;  /* of it; NULL: no limit */
    struct {
        size_t wire, decoded; /* bytes of the header block that arrives now */
        bool begun;           /* nghttp2 hands its headers to us */
    } block;
    size_t ignored; /* wire bytes of blocks that nghttp2 decodes and drops */
};

/* Enough headers, or requests, for this turn. */
static inline bool h2_is_headed(const h2 *s)
{
    return s->most && (s->done.heads >= s->most->heads || s->done.requests >= s->most->requests);
}

/* NULL: nghttp2 has done with it. */
h2_stream *h2_stream_of(h2 *s, int32_t id);
/* Open; NULL: out of memory. */
h2_stream *h2_stream_new(h2 *s);
void h2_stream_free(h2 *s, h2_stream *t);
void h2_stream_close_file(h2 *s, h2_stream *t);
void h2_stream_free_all(h2_stream *t); /* a whole list, of a session that ends */
/* nghttp2 must not be called from its own callbacks, so what happened is told by h2_deliver. */
void h2_stream_finish(h2 *s, h2_stream *t);
/* The request (server) or the answer is as complete as it gets. */
void h2_stream_end(h2 *s, h2_stream *t);

/* What is called while h2_feed and h2_take run. */
void h2_receive_callbacks(nghttp2_session_callbacks *cb);
