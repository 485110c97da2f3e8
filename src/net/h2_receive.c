/* What nghttp2 tells us of the peer. */
#include "net/h2_session.h"

#include "base/ban.h"

enum {
    MAX_IDLE_FRAMES = 1000, /* frames that are no part of a request, since the last request */
    BROKEN = 200,           /* more streams that broke the rules than were answered */
    DATA_A_WINDOW = 512,    /* bytes sent to the peer that justify one WINDOW_UPDATE */
    MAX_IGNORED =
        256 << 10, /* wire bytes of header blocks of streams that nghttp2 refuses by itself */
    HEADER_OVERHEAD = 32, /* of one header (RFC 9113 6.5.2) */
    MAX_BLOCK = HTTP_MAX_HEAD + HTTP_MAX_HEADERS * HEADER_OVERHEAD,
};

/* Ends the session, and with it the decoding: a stream that is reset would have its headers decoded all the same. */
static int end_session(h2 *s, const char *why)
{
    err_set(&s->why, ERR_LIMIT, "%s", why);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* A block is bounded as it is sent, so that what nghttp2 decodes without a word to us is bounded too. */
static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *who)
{
    (void)ng;
    h2 *s = who;
    s->done.frames++;
    if (hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_PUSH_PROMISE)
        s->block.wire = s->block.decoded = 0, s->block.begun = false;
    else if (hd->type != NGHTTP2_CONTINUATION)
        return 0;
    else if (++s->idle_frames > MAX_IDLE_FRAMES)
        return end_session(s, "the peer floods the connection with CONTINUATION frames");
    s->block.wire += hd->length;
    if (!s->block.begun) s->ignored += hd->length;
    if (s->block.wire > HTTP_MAX_HEAD)
        return end_session(s, "a header block over the limit of bytes");
    if (s->ignored > MAX_IGNORED)
        return end_session(s, "the peer goes on with streams that are refused");
    return 0;
}

/* A stream that broke a limit: reset, and told with its reason when nghttp2 closes it. */
static int refuse(h2 *s, int32_t id)
{
    nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    return 0;
}

static int on_begin(nghttp2_session *ng, const nghttp2_frame *f, void *who)
{
    h2 *s = who;
    s->block.begun = true;
    s->ignored -= s->block.wire;
    if (f->hd.type != NGHTTP2_HEADERS) return 0;
    s->done.requests++; /* not in on_begin_frame: a stream that nghttp2 refuses begins no request */
    h2_stream *t = h2_stream_of(s, f->hd.stream_id);
    if (t) {
        bool interim = !s->o.server && t->m.status < 200; /* 100 Continue: the real head follows */
        t->trailing = f->headers.cat == NGHTTP2_HCAT_HEADERS && !interim;
        if (interim) t->m.head.n = 0;
        return 0;
    }
    if (!s->o.server || f->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (!(t = h2_stream_new(s))) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    /* Who has nothing else under way is told in words that there is no room. */
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

static bool keep_pseudo(http_message *m, str name, str value, err *e)
{
    if (str_eq(name, STR(":status"))) { /* nothing to keep: a peer may send any number of 1xx */
        if (value.n == 3)               /* nghttp2 made sure of the digits */
            m->status = (unsigned)(value.p[0] - '0') * 100 + (unsigned)(value.p[1] - '0') * 10 +
                        (unsigned)(value.p[2] - '0');
        return true;
    }
    str kept;
    if (!http_message_keep_head(m, value, &kept, e)) return false;
    if (str_eq(name, STR(":method"))) m->method = kept;
    if (str_eq(name, STR(":path"))) m->path = kept;
    if (str_eq(name, STR(":authority"))) m->authority = kept;
    return true;
}

/* There is no room for the head: of the rest of its block nghttp2 may tell nothing more. */
static int refuse_head(h2 *s, const h2_stream *t)
{
    if (s->o.server && t->why.code == ERR_LIMIT) return end_session(s, t->why.msg);
    if (s->block.begun) s->ignored += s->block.wire;
    s->block.begun = false;
    return refuse(s, t->id);
}

static int keep_header(h2 *s, const nghttp2_frame *f, str name, str value)
{
    h2_stream *t = f->hd.type == NGHTTP2_HEADERS ? h2_stream_of(s, f->hd.stream_id) : NULL;
    if (!t || t->why.code) return 0;
    s->heard += name.n + value.n;
    if (name.n && name.p[0] == ':')
        return keep_pseudo(&t->m, name, value, &t->why) ? 0 : refuse_head(s, t);
    http_headers *to = t->trailing ? &t->m.trailers : &t->m.head;
    return http_message_add(&t->m, to, name, value, &t->why) ? 0 : refuse_head(s, t);
}

/* A byte on the wire may stand for a header of 4 KB (HPACK): each counts, whoever it is for. */
static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
                     size_t n_name, const uint8_t *value, size_t n_value, uint8_t flags, void *who)
{
    (void)ng, (void)flags;
    h2 *s = who;
    size_t n = n_name + n_value + HEADER_OVERHEAD;
    s->block.decoded += n, s->done.heads += n;
    if (s->block.decoded > MAX_BLOCK)
        return end_session(s, "a header block over the limit of bytes");
    int r =
        keep_header(s, f, (str){(const char *)name, n_name}, (str){(const char *)value, n_value});
    if (r) return r;
    return h2_is_headed(s) ? NGHTTP2_ERR_PAUSE : 0;
}

/* gRPC says how long its message is, before it comes. */
static size_t expected_of(const http_message *m, str bytes)
{
    str type = http_headers_get(&m->head, "content-type");
    if (bytes.n < 5 || type.n < 16 || memcmp(type.p, "application/grpc", 16) != 0) return 0;
    const uint8_t *p = (const uint8_t *)bytes.p;
    return 5 + ((size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4]);
}

/* It has its response: the rest is dropped, and cut when it is more than a body may have. */
static int pass_over(h2 *s, h2_stream *t, size_t n)
{
    t->passed += n;
    if (t->passed > s->o.max_body && t->passed - n <= s->o.max_body)
        nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, t->id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *who)
{
    (void)ng, (void)flags;
    h2 *s = who;
    h2_stream *t = h2_stream_of(s, id);
    if (!t || t->why.code) return 0;
    str bytes = {(const char *)p, n};
    if (t->lingers) return pass_over(s, t, n);
    s->heard += n;
    if (!s->o.server) return http_message_body(&t->m, bytes, &t->why) ? 0 : refuse(s, id);
    if (!t->ended && !t->m.body.n) t->m.expected = expected_of(&t->m, bytes);
    if (!t->ended) http_message_body_or_trouble(&t->m, bytes);
    if (t->m.trouble) h2_stream_end(s, t);
    return 0;
}

/* Frames that cost us work and are no part of a request. */
static bool is_flood(h2 *s, const nghttp2_frame *f)
{
    bool useful = f->hd.type == NGHTTP2_HEADERS ||
                  (f->hd.type == NGHTTP2_DATA && f->data.hd.length > f->data.padlen);
    return s->o.server && !useful && ++s->idle_frames > MAX_IDLE_FRAMES;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *who)
{
    h2 *s = who;
    if (is_flood(s, f)) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (f->hd.type == NGHTTP2_GOAWAY) s->goaway = true;
    bool end = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (s->o.server && f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST) {
        h2_stream *t = h2_stream_of(s, f->hd.stream_id);
        if (t) t->headed = true;
        if (t && s->ev.admit) s->ev.admit(s->ev.who, &t->m);
        if (t && t->m.trouble) h2_stream_end(s, t);
    }
    if (!end || (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS)) return 0;
    h2_stream *t = h2_stream_of(s, f->hd.stream_id);
    if (!t || t->told) return 0;
    h2_stream_end(s, t);
    /* An answer before all was sent (too large, overloaded) saves us the rest. */
    if (!s->o.server && nghttp2_session_get_stream_local_close(ng, f->hd.stream_id) == 0)
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

/* nghttp2 is done with the stream: it goes as soon as its owner was told. */
static void close_stream(h2 *s, h2_stream *t, uint32_t code)
{
    if (!t->ended && s->o.server) s->n_reading--;
    if (!t->ended || t->held)
        err_set(&t->why, ERR_SYS, "the peer ended the request early: %s",
                nghttp2_http2_strerror(code));
    if (t->held) t->told = t->held = false; /* its owner has to know */
    bool told = t->told;
    t->closed = true;
    t->unprocessed = code == NGHTTP2_REFUSED_STREAM;
    h2_stream_finish(s, t);
    for (h2_stream *f = s->finished; told && f; f = f->next)
        told = f != t; /* finished, and not told yet */
    if (told) h2_stream_free(s, t);
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *who)
{
    h2 *s = who;
    h2_stream *t = h2_stream_of(s, id);
    if (!t) return 0;
    if (t->lingers) s->n_lingering--;
    t->lingers = false;
    nghttp2_session_set_stream_user_data(ng, id, NULL);
    close_stream(s, t, code);
    return 0;
}

/* Requests that the peer makes us reset cost as much as those that it resets itself. */
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

/* Who takes a large response sends many WINDOW_UPDATEs. */
static void justify_windows(h2 *s, size_t sent)
{
    size_t n = 1 + sent / DATA_A_WINDOW;
    s->idle_frames -= n < s->idle_frames ? (uint32_t)n : s->idle_frames;
}

/* Its response is out: only a little of it stays. */
static void let_linger(h2 *s, h2_stream *t)
{
    s->owes -= t->owes;
    t->owes = H2_STREAM_COST;
    s->owes += t->owes;
    buf_free(&t->owned);
    s->n_lingering += !t->lingers;
    t->lingers = true;
}

static int on_sent(nghttp2_session *ng, const nghttp2_frame *f, void *who)
{
    h2 *s = who;
    bool end = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (f->hd.type == NGHTTP2_DATA) justify_windows(s, f->hd.length);
    if (s->o.server && is_abuse(s, f)) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!s->o.server || !end || (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS))
        return 0;
    h2_stream *t = h2_stream_of(s, f->hd.stream_id);
    if (t && nghttp2_session_get_stream_remote_close(ng, f->hd.stream_id) == 0) let_linger(s, t);
    return 0;
}

/* A request that never left: the peer is going away. */
static int on_not_sent(nghttp2_session *ng, const nghttp2_frame *f, int why, void *who)
{
    (void)ng, (void)why;
    h2 *s = who;
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
