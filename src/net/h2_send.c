/* Sends requests and responses: headers, bodies from memory or a file, trailers. */
#include "net/h2_session.h"

#include "base/ban.h"

static nghttp2_nv nv_of(const http_header *h)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)h->name.p,
                        .value = (uint8_t *)(uintptr_t)h->value.p,
                        .namelen = h->name.n,
                        .valuelen = h->value.n};
}

/* If the file cannot be read, resets the stream, so that the client notices. */
static ssize_t read_file(h2 *s, h2_stream *t, uint8_t *p, size_t max, uint32_t *flags)
{
    ssize_t n = spill_read(&t->file, t->file_at, p, max);
    if (n < 0) {
        if (s->o.cut) ++*s->o.cut;
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    t->file_at += (uint64_t)n;
    if (t->file_at < t->file.size) return n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    h2_stream_close_file(s, t);
    return n;
}

static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *p, size_t max, uint32_t *flags,
                         nghttp2_data_source *from, void *ctx)
{
    h2_stream *t = from->ptr;
    size_t n = 0;
    if (t->file.fd >= 0) return read_file(ctx, t, p, max, flags);
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
        nghttp2_nv nv[H2_MAX_SENT];
        for (size_t i = 0; i < t->n_trailers; i++) nv[i] = nv_of(&t->trailers[i]);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(ng, id, nv, t->n_trailers))
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

static bool fill_nv(const http_header *h, size_t n, nghttp2_nv *out, err *e)
{
    if (n > H2_MAX_SENT) return err_set(e, ERR_LIMIT, "more than %d headers", H2_MAX_SENT);
    for (size_t i = 0; i < n; i++) out[i] = nv_of(&h[i]);
    return true;
}

/* Copies the trailers, which are sent later. The body still belongs to the caller. */
static bool load(h2_stream *t, const h2_send *r, err *e)
{
    memcpy(t->body, r->body, sizeof t->body);
    if (r->n_trailers > H2_MAX_SENT)
        return err_set(e, ERR_LIMIT, "more than %d trailers", H2_MAX_SENT);
    for (size_t i = 0; i < r->n_trailers; i++) {
        http_header h = {http_message_copy(&t->m, r->trailers[i].name),
                         http_message_copy(&t->m, r->trailers[i].value)};
        if (!h.name.p || !h.value.p) return err_memory(e);
        t->trailers[t->n_trailers++] = h;
    }
    return true;
}

int32_t h2_request(h2 *s, const h2_send *r, err *e)
{
    nghttp2_nv nv[H2_MAX_SENT];
    h2_stream *t = h2_stream_new(s);
    if (!t) return err_memory(e), -1;
    int32_t id = -1;
    if (fill_nv(r->head, r->n_head, nv, e) && load(t, r, e)) {
        nghttp2_data_provider body = {.source.ptr = t, .read_callback = read_body};
        id = nghttp2_submit_request(s->ng, NULL, nv, r->n_head, &body, t);
        if (id < 0) err_set(e, ERR_SYS, "cannot send: %s", nghttp2_strerror(id));
    }
    if (id < 0) return h2_stream_free(s, t), -1;
    t->id = id;
    return id;
}

bool h2_respond(h2 *s, int32_t id, const h2_send *r, err *e)
{
    nghttp2_nv nv[H2_MAX_SENT];
    h2_stream *t = h2_stream_of(s, id);
    if (!t) return err_set(e, ERR_MISMATCH, "the stream is closed");
    if (!fill_nv(r->head, r->n_head, nv, e) || !load(t, r, e)) return false;
    t->held = false;
    http_message_drop_body(&t->m);
    t->owes = H2_STREAM_COST;
    if (r->owned) {
        t->owned = *r->owned;
        *r->owned = (buf){0};
        t->body[0] = buf_view(&t->owned), t->body[1] = (str){0};
        t->owes += t->owned.head + t->owned.cap;
    }
    s->owes += t->owes;
    if (r->file && r->file->size) {
        t->file = *r->file;
        *r->file = SPILL_NONE;
        s->files += t->file.size;
    }
    nghttp2_data_provider body = {.source.ptr = t, .read_callback = read_body};
    int n = nghttp2_submit_response(s->ng, id, nv, r->n_head, &body);
    return n == 0 || err_set(e, ERR_SYS, "cannot respond: %s", nghttp2_strerror(n));
}
