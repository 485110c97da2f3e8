/* Opens, queues, delivers and frees the streams of a session. */
#include "net/h2_session.h"

#include "base/ban.h"

h2_stream *h2_stream_of(h2 *s, int32_t id)
{
    return nghttp2_session_get_stream_user_data(s->ng, id);
}

static void unlink_stream(h2_stream *t)
{
    *t->back = t->next;
    if (t->next) t->next->back = t->back;
}

static void link_stream(h2_stream **list, h2_stream *t)
{
    t->next = *list, t->back = list;
    if (t->next) t->next->back = &t->next;
    *list = t;
}

static void drop_stream(h2_stream *t)
{
    http_message_free(&t->m);
    buf_free(&t->owned);
    spill_close(&t->file);
    free(t);
}

void h2_stream_free(h2 *s, h2_stream *t)
{
    unlink_stream(t);
    s->owes -= t->owes;
    h2_stream_close_file(s, t);
    drop_stream(t);
}

void h2_stream_close_file(h2 *s, h2_stream *t)
{
    if (t->file.fd >= 0) s->files -= t->file.size;
    spill_close(&t->file);
}

h2_stream *h2_stream_new(h2 *s)
{
    h2_stream *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->m.body.limit = s->o.max_body;
    t->m.pool = s->o.pool;
    t->file = SPILL_NONE;
    link_stream(&s->streams, t);
    return t;
}

void h2_stream_finish(h2 *s, h2_stream *t)
{
    if (t->reported) return;
    t->reported = true;
    h2_stream **end = &s->finished;
    while (*end) end = &(*end)->next;
    unlink_stream(t);
    link_stream(end, t);
}

void h2_deliver(h2 *s)
{
    if (s->delivering) return;
    s->delivering = true;
    for (h2_stream *t; !s->dead && (t = s->finished);) {
        unlink_stream(t);
        link_stream(&s->streams, t);
        bool closed = t->closed;
        if (s->o.server && closed && !t->out) {
            /* closed before it was delivered: nothing to report */
        } else if (t->ended && !t->why.code) {
            t->out = t->held = s->o.server;
            s->ev.done(s->ev.ctx, t->id, &t->m);
        } else {
            s->ev.failed(s->ev.ctx, t->id, t->unprocessed, &t->why);
        }
        if (closed) h2_stream_free(s, t);
    }
    s->delivering = false;
    if (s->dead) h2_free(s);
}

void h2_stream_free_all(h2_stream *t)
{
    for (h2_stream *next; t; t = next) {
        next = t->next;
        drop_stream(t);
    }
}

void h2_stream_end(h2 *s, h2_stream *t)
{
    if (t->ended) return;
    t->ended = true;
    http_message_complete(&t->m);
    if (s->o.server) s->n_reading--;
    s->idle_frames = 0;
    h2_stream_finish(s, t);
}
