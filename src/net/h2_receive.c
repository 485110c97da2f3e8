/* The callbacks of nghttp2.  They fill messages and detect floods.  The limits count the work that
 * a peer causes (frames, decoded headers, resets), not only its bytes. */
#include "net/h2_session.h"

#include "base/ban.h"

enum {
    MAX_IDLE_FRAMES = 1000,  /* frames since the last request that did not belong to one */
    BROKEN = 200,            /* limit of invalid streams minus streams with a response */
    DATA_A_WINDOW = 512,     /* sent bytes that justify one WINDOW_UPDATE */
    MAX_IGNORED = 256 << 10, /* wire bytes of header blocks that nghttp2 discards itself */
    HEADER_OVERHEAD = 32,    /* counted for each header (RFC 9113 6.5.2) */
    MAX_BLOCK = HTTP_MAX_HEAD + HTTP_MAX_HEADERS * HEADER_OVERHEAD,
};

/* Ends the session and so stops decoding.  After a stream reset, nghttp2 would still decode
 * headers. */
static int end_session(h2 *s, const char *why)
{
    err_set(&s->why, ERR_LIMIT, "%s", why);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Limits the wire bytes of header blocks, including those that nghttp2 decodes without a
 * callback. */
static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *ctx)
{
    (void)ng;
    h2 *s = ctx;
    s->done.frames++;
    if (hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_PUSH_PROMISE)
        s->block.wire = s->block.decoded = 0, s->block.begun = false;
    else if (hd->type != NGHTTP2_CONTINUATION)
        return 0;
    else if (++s->idle_frames > MAX_IDLE_FRAMES)
        return end_session(s, "the peer sends too many CONTINUATION frames");
    s->block.wire += hd->length;
    if (!s->block.begun) s->ignored += hd->length;
    if (s->block.wire > HTTP_MAX_HEAD)
        return end_session(s, "a header block exceeds the size limit");
    if (s->ignored > MAX_IGNORED)
        return end_session(s, "the peer continues to use streams that were refused");
    return 0;
}

/* Resets a stream that exceeded a limit.  The reason is reported when nghttp2 closes the stream. */
static int refuse(h2 *s, int32_t id)
{
    nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    return 0;
}

static int on_begin(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    h2 *s = ctx;
    s->block.begun = true;
    s->ignored -= s->block.wire;
    if (f->hd.type != NGHTTP2_HEADERS) return 0;
    s->done.requests++; /* not in on_begin_frame: streams that nghttp2 refuses do not count */
    h2_stream *t = h2_stream_of(s, f->hd.stream_id);
    if (t) {
        bool interim =
            !s->o.server && t->m.status < 200; /* 100 Continue: the final headers follow */
        t->trailing = f->headers.cat == NGHTTP2_HCAT_HEADERS && !interim;
        if (interim) t->m.head.n = 0;
        return 0;
    }
    if (!s->o.server || f->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (!(t = h2_stream_new(s))) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    /* A client without other requests gets a proper response instead of a reset. */
    if (!http_message_enter(&t->m, H2_STREAM_COST, !s->n_reading)) {
        h2_stream_free(s, t);
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    t->id = f->hd.stream_id;
    s->n_reading++;
    nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, t);
    return 0;
}

static bool store_pseudo(http_message *m, str name, str value, err *e)
{
    if (str_eq(name, STR(":status"))) { /* not stored: a peer may send any number of 1xx */
        if (value.n == 3)               /* nghttp2 has checked the digits */
            m->status = (unsigned)(value.p[0] - '0') * 100 + (unsigned)(value.p[1] - '0') * 10 +
                        (unsigned)(value.p[2] - '0');
        return true;
    }
    str copy;
    if (!http_message_copy_head(m, value, &copy, e)) return false;
    if (str_eq(name, STR(":method"))) m->method = copy;
    if (str_eq(name, STR(":path"))) m->path = copy;
    if (str_eq(name, STR(":authority"))) m->authority = copy;
    return true;
}

/* Called when the headers do not fit. nghttp2 may decode the rest of the block without
 * callbacks. */
static int refuse_head(h2 *s, const h2_stream *t)
{
    if (s->o.server && err_exhausted(&t->why)) return end_session(s, t->why.msg);
    if (s->block.begun) s->ignored += s->block.wire;
    s->block.begun = false;
    return refuse(s, t->id);
}

static int store_header(h2 *s, const nghttp2_frame *f, str name, str value)
{
    h2_stream *t = f->hd.type == NGHTTP2_HEADERS ? h2_stream_of(s, f->hd.stream_id) : NULL;
    if (!t || t->why.code) return 0;
    s->received += name.n + value.n;
    if (name.n && name.p[0] == ':')
        return store_pseudo(&t->m, name, value, &t->why) ? 0 : refuse_head(s, t);
    http_headers *to = t->trailing ? &t->m.trailers : &t->m.head;
    return http_message_add(&t->m, to, name, value, &t->why) ? 0 : refuse_head(s, t);
}

/* One byte on the wire may decode to a header of 4 KB (HPACK), so this counts the decoded bytes of
 * all streams. */
static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
                     size_t n_name, const uint8_t *value, size_t n_value, uint8_t flags, void *ctx)
{
    (void)ng, (void)flags;
    h2 *s = ctx;
    size_t n = n_name + n_value + HEADER_OVERHEAD;
    s->block.decoded += n, s->done.heads += n;
    if (s->block.decoded > MAX_BLOCK)
        return end_session(s, "a header block exceeds the size limit");
    int r =
        store_header(s, f, (str){(const char *)name, n_name}, (str){(const char *)value, n_value});
    if (r) return r;
    return h2_is_headed(s) ? NGHTTP2_ERR_PAUSE : 0;
}

/* Returns the body size that gRPC's length prefix announces, or 0. */
static size_t expected_of(const http_message *m, str bytes)
{
    str type = http_headers_get(&m->head, "content-type");
    if (bytes.n < 5 || type.n < 16 || memcmp(type.p, "application/grpc", 16) != 0) return 0;
    const uint8_t *p = (const uint8_t *)bytes.p;
    return 5 + ((size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4]);
}

/* Discards the rest of a request that already has its response.  Resets the stream when the rest
 * exceeds max_body. */
static int pass_over(h2 *s, h2_stream *t, size_t n)
{
    t->passed += n;
    if (t->passed > s->o.max_body && t->passed - n <= s->o.max_body)
        nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, t->id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *ctx)
{
    (void)ng, (void)flags;
    h2 *s = ctx;
    h2_stream *t = h2_stream_of(s, id);
    if (!t || t->why.code) return 0;
    str bytes = {(const char *)p, n};
    if (t->lingers) return pass_over(s, t, n);
    s->received += n;
    if (!s->o.server) return http_message_body(&t->m, bytes, &t->why) ? 0 : refuse(s, id);
    if (!t->ended && !t->m.body.n) t->m.expected = expected_of(&t->m, bytes);
    if (!t->ended) http_message_body_or_fail(&t->m, bytes);
    if (t->m.failure) h2_stream_end(s, t);
    return 0;
}

/* Returns whether the peer has sent too many frames that carry neither headers nor data. */
static bool is_flood(h2 *s, const nghttp2_frame *f)
{
    bool useful = f->hd.type == NGHTTP2_HEADERS ||
                  (f->hd.type == NGHTTP2_DATA && f->data.hd.length > f->data.padlen);
    return s->o.server && !useful && ++s->idle_frames > MAX_IDLE_FRAMES;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    h2 *s = ctx;
    if (is_flood(s, f)) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (f->hd.type == NGHTTP2_GOAWAY) s->goaway = true;
    bool end = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (s->o.server && f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST) {
        h2_stream *t = h2_stream_of(s, f->hd.stream_id);
        if (t) t->headed = true;
        if (t && s->ev.admit) s->ev.admit(s->ev.ctx, &t->m);
        if (t && t->m.failure) h2_stream_end(s, t);
    }
    if (!end || (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS)) return 0;
    h2_stream *t = h2_stream_of(s, f->hd.stream_id);
    if (!t || t->reported) return 0;
    h2_stream_end(s, t);
    /* After an early response (too large, overloaded) the client need not send the rest of its
     * request. */
    if (!s->o.server && nghttp2_session_get_stream_local_close(ng, f->hd.stream_id) == 0)
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

/* Called when nghttp2 has closed the stream.  The stream is freed once its end was reported to the
 * owner. */
static void close_stream(h2 *s, h2_stream *t, uint32_t code)
{
    if (!t->ended && s->o.server) s->n_reading--;
    if (!t->ended || t->held)
        err_set(&t->why, ERR_SYS, "the peer ended the request early: %s",
                nghttp2_http2_strerror(code));
    if (t->held) t->reported = t->held = false; /* reports the end to the owner */
    bool reported = t->reported;
    t->closed = true;
    t->unprocessed = code == NGHTTP2_REFUSED_STREAM;
    h2_stream_finish(s, t);
    for (h2_stream *f = s->finished; reported && f; f = f->next)
        reported = f != t; /* in the list of finished streams: not reported yet */
    if (reported) h2_stream_free(s, t);
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *ctx)
{
    h2 *s = ctx;
    h2_stream *t = h2_stream_of(s, id);
    if (!t) return 0;
    if (t->lingers) s->n_lingering--;
    t->lingers = false;
    nghttp2_session_set_stream_user_data(ng, id, NULL);
    close_stream(s, t, code);
    return 0;
}

/* Counts streams that this side had to reset, because they cost as much as those that the peer
 * resets. */
static bool is_abuse(h2 *s, const nghttp2_frame *f)
{
    bool end = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (f->hd.type == NGHTTP2_RST_STREAM)
        return f->rst_stream.error_code != NGHTTP2_NO_ERROR &&
               f->rst_stream.error_code != NGHTTP2_REFUSED_STREAM && ++s->broken > BROKEN;
    if (end && s->broken && (f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS))
        s->broken--;
    return false;
}

/* Allows more WINDOW_UPDATEs in proportion to the bytes sent: a client that reads a large response
 * sends many. */
static void justify_windows(h2 *s, size_t sent)
{
    size_t n = 1 + sent / DATA_A_WINDOW;
    s->idle_frames -= n < s->idle_frames ? (uint32_t)n : s->idle_frames;
}

/* Called when the response is sent: releases its body. */
static void let_linger(h2 *s, h2_stream *t)
{
    s->owes -= t->owes;
    t->owes = H2_STREAM_COST;
    s->owes += t->owes;
    buf_free(&t->owned);
    s->n_lingering += !t->lingers;
    t->lingers = true;
}

static int on_sent(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    h2 *s = ctx;
    bool end = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (f->hd.type == NGHTTP2_DATA) justify_windows(s, f->hd.length);
    if (s->o.server && is_abuse(s, f)) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!s->o.server || !end || (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS))
        return 0;
    h2_stream *t = h2_stream_of(s, f->hd.stream_id);
    if (t && nghttp2_session_get_stream_remote_close(ng, f->hd.stream_id) == 0) let_linger(s, t);
    return 0;
}

/* Called for a request that was not sent because the peer is shutting down. */
static int on_not_sent(nghttp2_session *ng, const nghttp2_frame *f, int why, void *ctx)
{
    (void)ng, (void)why;
    h2 *s = ctx;
    if (f->hd.type != NGHTTP2_HEADERS || h2_stream_of(s, f->hd.stream_id)) return 0;
    for (h2_stream *t = s->streams; t; t = t->next)
        if (t->id == f->hd.stream_id && !t->closed) {
            close_stream(s, t, NGHTTP2_REFUSED_STREAM);
            break;
        }
    return 0;
}

void h2_receive_callbacks(nghttp2_session_callbacks *cb)
{
    nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_not_sent);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
}
