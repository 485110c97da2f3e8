/* HTTP/2 sessions: options of nghttp2, input, output, shutdown.  Input is fed in slices, so that
 * the work of one turn stays bounded. */
#include "net/h2_session.h"

#include "base/ban.h"

enum {
    SLICE = 8 << 10, /* bytes fed at a time; turn limits are checked in between */
    MAX_STREAMS = 100,
    WINDOW = 1 << 20,     /* flow-control window of a stream */
    MAX_CONTROL = 64,     /* limit of queued replies to SETTINGS and PING */
    RESETS = 200,         /* streams that a client may reset in a burst ... */
    RESETS_A_SECOND = 50, /* ... and on average */
};

static int new_session(h2 *s)
{
    nghttp2_session_callbacks *cb;
    nghttp2_option *opt;
    if (nghttp2_session_callbacks_new(&cb)) return NGHTTP2_ERR_NOMEM;
    if (nghttp2_option_new(&opt)) return nghttp2_session_callbacks_del(cb), NGHTTP2_ERR_NOMEM;
    h2_receive_callbacks(cb);
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
    if (!s) return err_memory(e), NULL;
    *s = (h2){.o = *o, .ev = *ev};
    if (!s->o.max_body) s->o.max_body = HTTP_MAX_RESPONSE;
    nghttp2_settings_entry set[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, o->max_streams ? o->max_streams : MAX_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_MAX_HEAD},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    size_t n = ARRAY_LEN(set) - (o->server ? 1 : 0); /* servers do not send this setting */
    int r = new_session(s);
    if (!r) r = nghttp2_submit_settings(s->ng, NGHTTP2_FLAG_NONE, set, n);
    if (!r) r = nghttp2_session_set_local_window_size(s->ng, NGHTTP2_FLAG_NONE, 0, 4 * WINDOW);
    if (!r) return s;
    err_set(e, ERR_LIMIT, "cannot start HTTP/2: %s", nghttp2_strerror(r));
    h2_free(s);
    return NULL;
}

void h2_free(h2 *s)
{
    if (!s) return;
    if (s->delivering) {
        s->dead = true;
        return;
    }
    h2_stream_free_all(s->streams);
    h2_stream_free_all(s->finished);
    nghttp2_session_del(s->ng);
    free(s);
}

/* Ends the session; the next h2_take appends a GOAWAY with the reason. */
static bool fail_feed(h2 *s, int why, err *e)
{
    if (why == NGHTTP2_ERR_NOMEM) return err_memory(e);
    if (why != NGHTTP2_ERR_CALLBACK_FAILURE && why != NGHTTP2_ERR_FLOODED)
        return err_set(e, ERR_MALFORMED, "invalid HTTP/2 from the peer: %s", nghttp2_strerror(why));
    (void)nghttp2_session_terminate_session(s->ng, NGHTTP2_ENHANCE_YOUR_CALM);
    if (s->why.code) return *e = s->why, false;
    return err_set(e, ERR_LIMIT, "the peer sends too many frames without data");
}

static bool is_turn_over(const h2 *s)
{
    return s->most && (s->done.frames >= s->most->frames || h2_is_headed(s));
}

bool h2_feed_some(h2 *s, str *bytes, const h2_work *most, h2_work *done, err *e)
{
    s->most = most;
    s->done = (h2_work){0};
    ssize_t n = 0;
    do {
        size_t slice = bytes->n < SLICE ? bytes->n : (size_t)SLICE;
        n = nghttp2_session_mem_recv(s->ng, (const uint8_t *)bytes->p, slice);
        if (n >= 0) *bytes = (str){bytes->p + n, bytes->n - (size_t)n};
    } while (n >= 0 && bytes->n && !is_turn_over(s));
    /* on_header pauses nghttp2.  If it paused at the last byte, one more call delivers the end of
     * the frame. */
    if (n >= 0 && !bytes->n && is_turn_over(s)) n = nghttp2_session_mem_recv(s->ng, NULL, 0);
    *done = s->done;
    return n >= 0 || fail_feed(s, (int)n, e);
}

bool h2_feed(h2 *s, str bytes, err *e)
{
    h2_work done;
    return h2_feed_some(s, &bytes, NULL, &done, e);
}

bool h2_take(h2 *s, buf *out, size_t most, err *e)
{
    while (!most || out->n < most) {
        const uint8_t *p;
        ssize_t n = nghttp2_session_mem_send(s->ng, &p);
        if (n < 0) return err_set(e, ERR_LIMIT, "HTTP/2 failed: %s", nghttp2_strerror((int)n));
        if (n == 0) break;
        buf_put(out, p, (size_t)n);
    }
    return !out->failed || err_memory(e);
}

bool h2_over(const h2 *s)
{
    return (s->goaway && !s->o.server) ||
           (!nghttp2_session_want_read(s->ng) && !nghttp2_session_want_write(s->ng));
}

size_t h2_reading(const h2 *s) { return s->n_reading; }
size_t h2_owes(const h2 *s) { return s->owes; }
uint64_t h2_received(const h2 *s) { return s->received; }
uint64_t h2_files(const h2 *s) { return s->files; }

void h2_end_failed(h2 *s)
{
    for (h2_stream *t = s->streams, *next; t; t = next) {
        next = t->next;
        if (!t->m.failure || t->ended) continue;
        if (t->headed)
            h2_stream_end(s, t);
        else
            nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, t->id, NGHTTP2_REFUSED_STREAM);
    }
}

size_t h2_lingering(const h2 *s) { return s->n_lingering; }

void h2_reset_lingering(h2 *s)
{
    for (h2_stream *t = s->streams; t; t = t->next) {
        if (t->lingers && t->old)
            nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, t->id, NGHTTP2_NO_ERROR);
        t->old = t->lingers;
    }
}

void h2_announce_drain(h2 *s) { (void)nghttp2_submit_shutdown_notice(s->ng); }

void h2_drain(h2 *s)
{
    int32_t last = nghttp2_session_get_last_proc_stream_id(s->ng);
    (void)nghttp2_submit_goaway(s->ng, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
}
