#include "net/h2.h"

#include "base/ban.h"
#include <nghttp2/nghttp2.h>

enum {
    MAX_STREAMS = 100,
    MAX_SENT = 64,          /* headers of one message that is sent */
    WINDOW = 1 << 20,       /* a stream may send this much ahead */
    MAX_CONTROL = 64,       /* SETTINGS and PING in a queue: more is an attack */
    MAX_IDLE_FRAMES = 1000, /* frames that are no part of a request, since the last request */
    STREAM_COST = 8 << 10,  /* of a stream, beside what it says */
    RESETS = 200,           /* a client may reset so many streams at once ... */
    RESETS_A_SECOND = 50,   /* ... and so many in the long run */
    BROKEN = 200,           /* more streams that broke the rules than were answered */
};

typedef struct stream {
    struct stream *next, **back; /* in a list of its session: open, or finished and not told */
    int32_t id;
    http_message m;
    str body[2]; /* still to be sent */
    http_header trailers[MAX_SENT];
    size_t n_trailers;
    err why;
    bool told; /* it is finished, or nobody wants to know */
    bool closed, unprocessed;
    bool headed;   /* server: all of the head is there */
    bool ended;    /* the peer's half is complete */
    bool out;      /* server: handed out ... */
    bool held;     /* ... and not answered */
    buf owned;     /* server: the answer's body */
    size_t owes;   /* server: counted in the session's */
    bool trailing; /* the headers that arrive now are trailers */
} stream;

struct h2 {
    nghttp2_session *ng;
    h2_opts o;
    h2_events ev;
    stream *streams;
    stream *finished;      /* the first to finish comes first */
    bool delivering, dead; /* dead: freed by an event, and h2_deliver buries it */
    bool goaway;
    uint32_t idle_frames; /* server */
    uint32_t broken;      /* server: streams that we had to reset, less those that were answered */
    size_t n_reading;     /* server: requests that are not complete */
    size_t owes;          /* server */
    uint64_t heard;       /* server */
};

static stream *stream_of(h2 *s, int32_t id)
{
    return nghttp2_session_get_stream_user_data(s->ng, id);
}

static void unlink_stream(stream *t)
{
    *t->back = t->next;
    if (t->next) t->next->back = t->back;
}

static void link_stream(stream **list, stream *t)
{
    t->next = *list, t->back = list;
    if (t->next) t->next->back = &t->next;
    *list = t;
}

static void stream_free(h2 *s, stream *t)
{
    unlink_stream(t);
    s->owes -= t->owes;
    http_message_free(&t->m);
    buf_free(&t->owned);
    free(t);
}

static stream *stream_new(h2 *s)
{
    stream *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->m.body.limit = s->o.max_body;
    t->m.pool = s->o.pool;
    link_stream(&s->streams, t);
    return t;
}

/* nghttp2 must not be called from its own callbacks, so what happened is told by h2_deliver. */
static void finish(h2 *s, stream *t)
{
    if (t->told) return;
    t->told = true;
    stream **end = &s->finished;
    while (*end) end = &(*end)->next;
    unlink_stream(t);
    link_stream(end, t);
}

void h2_deliver(h2 *s)
{
    if (s->delivering) return;
    s->delivering = true;
    for (stream *t; !s->dead && (t = s->finished);) {
        unlink_stream(t);
        link_stream(&s->streams, t);
        bool closed = t->closed;
        if (s->o.server && closed && !t->out) {
            /* nobody has heard of it */
        } else if (t->ended && !t->why.code) {
            t->out = t->held = s->o.server;
            s->ev.done(s->ev.who, t->id, &t->m);
        } else {
            s->ev.failed(s->ev.who, t->id, t->unprocessed, &t->why);
        }
        if (closed) stream_free(s, t);
    }
    s->delivering = false;
    if (s->dead) h2_free(s);
}

/* A stream that broke a limit: reset, and told with its reason when nghttp2 closes it. */
static int refuse(h2 *s, int32_t id)
{
    nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    return 0;
}

/* Server: the request is as complete as it gets. */
static void end_request(h2 *s, stream *t)
{
    if (t->ended) return;
    t->ended = true;
    http_message_whole(&t->m);
    if (s->o.server) s->n_reading--;
    s->idle_frames = 0;
    finish(s, t);
}

/* ---- what nghttp2 tells us ---- */

static int on_begin(nghttp2_session *ng, const nghttp2_frame *f, void *who)
{
    h2 *s = who;
    if (f->hd.type != NGHTTP2_HEADERS) return 0;
    stream *t = stream_of(s, f->hd.stream_id);
    if (t) {
        bool interim = !s->o.server && t->m.status < 200; /* 100 Continue: the real head follows */
        t->trailing = f->headers.cat == NGHTTP2_HCAT_HEADERS && !interim;
        if (interim) t->m.head.n = 0;
        return 0;
    }
    if (!s->o.server || f->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (!(t = stream_new(s))) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    /* Who has nothing else under way is told in words that there is no room. */
    if (!http_message_enter(&t->m, STREAM_COST, !s->n_reading)) {
        stream_free(s, t);
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

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
                     size_t n_name, const uint8_t *value, size_t n_value, uint8_t flags, void *who)
{
    (void)ng, (void)flags;
    h2 *s = who;
    stream *t = f->hd.type == NGHTTP2_HEADERS ? stream_of(s, f->hd.stream_id) : NULL;
    if (!t || t->why.code) return 0;
    str k = {(const char *)name, n_name}, v = {(const char *)value, n_value};
    s->heard += n_name + n_value;
    if (n_name && name[0] == ':')
        return keep_pseudo(&t->m, k, v, &t->why) ? 0 : refuse(s, f->hd.stream_id);
    bool ok = http_message_add(&t->m, t->trailing ? &t->m.trailers : &t->m.head, k, v, &t->why);
    return ok ? 0 : refuse(s, f->hd.stream_id);
}

/* gRPC says how long its message is, before it comes. */
static size_t expected_of(const http_message *m, str bytes)
{
    str type = http_headers_get(&m->head, "content-type");
    if (bytes.n < 5 || type.n < 16 || memcmp(type.p, "application/grpc", 16) != 0) return 0;
    const uint8_t *p = (const uint8_t *)bytes.p;
    return 5 + ((size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4]);
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                   void *who)
{
    (void)ng, (void)flags;
    h2 *s = who;
    stream *t = stream_of(s, id);
    if (!t || t->why.code) return 0;
    str bytes = {(const char *)p, n};
    s->heard += n;
    if (!s->o.server) return http_message_body(&t->m, bytes, &t->why) ? 0 : refuse(s, id);
    if (!t->ended && !t->m.body.n) t->m.expected = expected_of(&t->m, bytes);
    if (!t->ended) http_message_body_or_trouble(&t->m, bytes);
    if (t->m.trouble) end_request(s, t);
    return 0;
}

/* Frames that cost us work and are no part of a request. */
static bool is_flood(h2 *s, const nghttp2_frame *f)
{
    bool useful = f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_WINDOW_UPDATE ||
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
        stream *t = stream_of(s, f->hd.stream_id);
        if (t) t->headed = true;
        if (t && s->ev.admit) s->ev.admit(s->ev.who, &t->m);
        if (t && t->m.trouble) end_request(s, t);
    }
    if (!end || (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS)) return 0;
    stream *t = stream_of(s, f->hd.stream_id);
    if (!t || t->told) return 0;
    end_request(s, t);
    /* An answer before all was sent (too large, overloaded) saves us the rest. */
    if (!s->o.server && nghttp2_session_get_stream_local_close(ng, f->hd.stream_id) == 0)
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

/* nghttp2 is done with the stream: it goes as soon as its owner was told. */
static void close_stream(h2 *s, stream *t, uint32_t code)
{
    if (!t->ended && s->o.server) s->n_reading--;
    if (!t->ended || t->held)
        err_set(&t->why, ERR_SYS, "the peer ended the request early: %s",
                nghttp2_http2_strerror(code));
    if (t->held) t->told = t->held = false; /* its owner has to know */
    bool told = t->told;
    t->closed = true;
    t->unprocessed = code == NGHTTP2_REFUSED_STREAM;
    finish(s, t);
    for (stream *f = s->finished; told && f; f = f->next)
        told = f != t; /* finished, and not told yet */
    if (told) stream_free(s, t);
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *who)
{
    h2 *s = who;
    stream *t = stream_of(s, id);
    if (!t) return 0;
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

/* An answer that went out before all of the request came: the rest is not wanted. */
static int on_sent(nghttp2_session *ng, const nghttp2_frame *f, void *who)
{
    h2 *s = who;
    bool end = f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (s->o.server && is_abuse(s, f)) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!s->o.server || !end || (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS))
        return 0;
    if (nghttp2_session_get_stream_remote_close(ng, f->hd.stream_id) == 0)
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

/* A request that never left: the peer is going away. */
static int on_not_sent(nghttp2_session *ng, const nghttp2_frame *f, int why, void *who)
{
    (void)ng, (void)why;
    h2 *s = who;
    if (f->hd.type != NGHTTP2_HEADERS || stream_of(s, f->hd.stream_id)) return 0;
    for (stream *t = s->streams; t; t = t->next)
        if (t->id == f->hd.stream_id && !t->closed) {
            close_stream(s, t, NGHTTP2_REFUSED_STREAM);
            break;
        }
    return 0;
}

/* ---- what nghttp2 asks of us ---- */

static nghttp2_nv nv_of(const http_header *h)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)h->name.p,
                        .value = (uint8_t *)(uintptr_t)h->value.p,
                        .namelen = h->name.n,
                        .valuelen = h->value.n};
}

static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *p, size_t max, uint32_t *flags,
                         nghttp2_data_source *from, void *who)
{
    (void)who;
    stream *t = from->ptr;
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(t->body); i++) {
        str *b = &t->body[i];
        size_t k = b->n < max - n ? b->n : max - n;
        if (!k) continue;
        memcpy(p + n, b->p, k);
        *b = (str){b->p + k, b->n - k};
        n += k;
    }
    if (t->body[0].n || t->body[1].n) return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (t->n_trailers) {
        nghttp2_nv nv[MAX_SENT];
        for (size_t i = 0; i < t->n_trailers; i++) nv[i] = nv_of(&t->trailers[i]);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(ng, id, nv, t->n_trailers))
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

/* ---- sessions ---- */

static int new_session(h2 *s)
{
    nghttp2_session_callbacks *cb;
    nghttp2_option *opt;
    if (nghttp2_session_callbacks_new(&cb)) return NGHTTP2_ERR_NOMEM;
    if (nghttp2_option_new(&opt)) return nghttp2_session_callbacks_del(cb), NGHTTP2_ERR_NOMEM;
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_not_sent);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
    nghttp2_option_set_stream_reset_rate_limit(opt, RESETS, RESETS_A_SECOND);
    nghttp2_option_set_max_outbound_ack(opt, MAX_CONTROL);
    nghttp2_option_set_max_settings(opt, MAX_CONTROL);
    int r = s->o.server ? nghttp2_session_server_new2(&s->ng, cb, s, opt)
                        : nghttp2_session_client_new2(&s->ng, cb, s, opt);
    nghttp2_option_del(opt);
    nghttp2_session_callbacks_del(cb);
    return r;
}

h2 *h2_open(const h2_opts *o, const h2_events *ev, err *e)
{
    h2 *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    *s = (h2){.o = *o, .ev = *ev};
    if (!s->o.max_body) s->o.max_body = HTTP_MAX_ANSWER;
    nghttp2_settings_entry set[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, o->max_streams ? o->max_streams : MAX_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_MAX_HEAD},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    size_t n = ARRAY_LEN(set) - (o->server ? 1 : 0); /* a server has no say about push */
    int r = new_session(s);
    if (!r) r = nghttp2_submit_settings(s->ng, NGHTTP2_FLAG_NONE, set, n);
    if (!r) r = nghttp2_session_set_local_window_size(s->ng, NGHTTP2_FLAG_NONE, 0, 4 * WINDOW);
    if (!r) return s;
    err_set(e, ERR_LIMIT, "cannot start HTTP/2: %s", nghttp2_strerror(r));
    h2_free(s);
    return NULL;
}

static void free_all(stream *t)
{
    for (stream *next; t; t = next) {
        next = t->next;
        http_message_free(&t->m);
        buf_free(&t->owned);
        free(t);
    }
}

void h2_free(h2 *s)
{
    if (!s) return;
    if (s->delivering) {
        s->dead = true;
        return;
    }
    free_all(s->streams);
    free_all(s->finished);
    nghttp2_session_del(s->ng);
    free(s);
}

bool h2_feed(h2 *s, str bytes, err *e)
{
    ssize_t n = nghttp2_session_mem_recv(s->ng, (const uint8_t *)bytes.p, bytes.n);
    if (n >= 0) return true;
    if (n == NGHTTP2_ERR_NOMEM) return err_set(e, ERR_LIMIT, "out of memory");
    if (n == NGHTTP2_ERR_CALLBACK_FAILURE || n == NGHTTP2_ERR_FLOODED)
        return err_set(e, ERR_LIMIT,
                       "the peer floods the connection with frames that ask for nothing");
    return err_set(e, ERR_MALFORMED, "broken HTTP/2 from the peer: %s", nghttp2_strerror((int)n));
}

bool h2_take(h2 *s, buf *out, size_t most, err *e)
{
    while (!most || out->n < most) {
        const uint8_t *p;
        ssize_t n = nghttp2_session_mem_send(s->ng, &p);
        if (n < 0)
            return err_set(e, ERR_LIMIT, "cannot go on with HTTP/2: %s", nghttp2_strerror((int)n));
        if (n == 0) break;
        buf_put(out, p, (size_t)n);
    }
    return !out->failed || err_set(e, ERR_LIMIT, "out of memory");
}

bool h2_over(const h2 *s)
{
    return (s->goaway && !s->o.server) ||
           (!nghttp2_session_want_read(s->ng) && !nghttp2_session_want_write(s->ng));
}

/* ---- sending ---- */

static bool fill_nv(const http_header *h, size_t n, nghttp2_nv *out, err *e)
{
    if (n > MAX_SENT) return err_set(e, ERR_LIMIT, "more than %d headers", MAX_SENT);
    for (size_t i = 0; i < n; i++) out[i] = nv_of(&h[i]);
    return true;
}

/* Trailers are sent later, so they are kept; the body stays the caller's. */
static bool load(stream *t, const h2_send *r, err *e)
{
    memcpy(t->body, r->body, sizeof t->body);
    if (r->n_trailers > MAX_SENT) return err_set(e, ERR_LIMIT, "more than %d trailers", MAX_SENT);
    for (size_t i = 0; i < r->n_trailers; i++) {
        http_header h = {http_message_keep(&t->m, r->trailers[i].name),
                         http_message_keep(&t->m, r->trailers[i].value)};
        if (!h.name.p || !h.value.p) return err_set(e, ERR_LIMIT, "out of memory");
        t->trailers[t->n_trailers++] = h;
    }
    return true;
}

int32_t h2_request(h2 *s, const h2_send *r, err *e)
{
    nghttp2_nv nv[MAX_SENT];
    stream *t = stream_new(s);
    if (!t) return err_set(e, ERR_LIMIT, "out of memory"), -1;
    int32_t id = -1;
    if (fill_nv(r->head, r->n_head, nv, e) && load(t, r, e)) {
        nghttp2_data_provider body = {.source.ptr = t, .read_callback = read_body};
        id = nghttp2_submit_request(s->ng, NULL, nv, r->n_head, &body, t);
        if (id < 0) err_set(e, ERR_SYS, "cannot send: %s", nghttp2_strerror(id));
    }
    if (id < 0) return stream_free(s, t), -1;
    t->id = id;
    return id;
}

bool h2_respond(h2 *s, int32_t id, const h2_send *r, err *e)
{
    nghttp2_nv nv[MAX_SENT];
    stream *t = stream_of(s, id);
    if (!t) return err_set(e, ERR_MISMATCH, "the stream is gone");
    if (!fill_nv(r->head, r->n_head, nv, e) || !load(t, r, e)) return false;
    t->held = false;
    http_message_answered(&t->m);
    t->owes = STREAM_COST;
    if (r->owned) {
        t->owned = *r->owned;
        *r->owned = (buf){0};
        t->body[0] = buf_view(&t->owned), t->body[1] = (str){0};
        t->owes += t->owned.head + t->owned.cap;
    }
    s->owes += t->owes;
    nghttp2_data_provider body = {.source.ptr = t, .read_callback = read_body};
    int n = nghttp2_submit_response(s->ng, id, nv, r->n_head, &body);
    return n == 0 || err_set(e, ERR_SYS, "cannot answer: %s", nghttp2_strerror(n));
}

size_t h2_reading(const h2 *s) { return s->n_reading; }
size_t h2_owes(const h2 *s) { return s->owes; }
uint64_t h2_heard(const h2 *s) { return s->heard; }

void h2_end_troubled(h2 *s)
{
    for (stream *t = s->streams, *next; t; t = next) {
        next = t->next;
        if (!t->m.trouble || t->ended) continue;
        if (t->headed)
            end_request(s, t);
        else
            nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, t->id, NGHTTP2_REFUSED_STREAM);
    }
}

void h2_drain(h2 *s)
{
    int32_t last = nghttp2_session_get_last_proc_stream_id(s->ng);
    (void)nghttp2_submit_goaway(s->ng, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
}
