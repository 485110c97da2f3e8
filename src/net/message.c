#include "net/message.h"

#include "base/ban.h"
#include <strings.h>

str http_message_keep(http_message *m, str text)
{
    char *p = arena_alloc(&m->arena, text.n + 1);
    if (!p) return (str){0};
    if (text.n) memcpy(p, text.p, text.n);
    p[text.n] = '\0';
    return (str){p, text.n};
}

bool http_message_add(http_message *m, http_headers *to, str name, str value, err *e)
{
    if (m->head.n + m->trailers.n >= HTTP_MAX_HEADERS)
        return err_set(e, ERR_LIMIT, "more than %d headers", HTTP_MAX_HEADERS);
    if (name.n > HTTP_MAX_HEAD - m->n_head || value.n > HTTP_MAX_HEAD - m->n_head - name.n)
        return err_set(e, ERR_LIMIT, "headers of more than %d bytes", HTTP_MAX_HEAD);
    http_header h = {http_message_keep(m, name), http_message_keep(m, value)};
    http_header *slot = h.name.p && h.value.p ? vec_push(&m->arena, to) : NULL;
    if (!slot) return err_set(e, ERR_LIMIT, "out of memory");
    *slot = h;
    m->n_head += name.n + value.n;
    return true;
}

bool http_message_body(http_message *m, str bytes, err *e)
{
    buf_str(&m->body, bytes);
    if (!m->body.failed) return true;
    return err_set(e, ERR_LIMIT, "the body is larger than the limit of %zu bytes", m->body.limit);
}

static void leave_pool(http_message *m)
{
    if (m->pool) m->pool->used -= m->pooled;
    m->pooled = 0;
}

static bool has_room(const http_pool *p, const http_message *m, size_t n)
{
    size_t max = m->body.n + n > HTTP_SMALL_BODY ? p->max - p->max / 4 : p->max;
    return p->used <= max && n <= max - p->used;
}

void http_message_body_or_trouble(http_message *m, str bytes)
{
    http_pool *p = m->pool;
    if (m->trouble) return;
    if (m->body.limit && bytes.n > m->body.limit - m->body.n)
        m->trouble = HTTP_TOO_LARGE;
    else if (p && !has_room(p, m, bytes.n))
        m->trouble = HTTP_PRESSED;
    else
        buf_str(&m->body, bytes);
    if (m->body.failed) m->trouble = HTTP_PRESSED;
    if (m->trouble) {
        size_t limit = m->body.limit;
        leave_pool(m);
        buf_free(&m->body);
        m->body = (buf){.limit = limit};
    } else if (p) {
        p->used += bytes.n, m->pooled += bytes.n;
    }
}

void http_message_move(http_message *from, http_message *to)
{
    *to = *from;
    *from = (http_message){.pool = to->pool, .trouble = to->trouble, .body.limit = to->body.limit};
}

void http_message_reset(http_message *m)
{
    leave_pool(m);
    arena_reset(&m->arena);
    arena a = m->arena;
    buf_reset(&m->body);
    m->body.failed = false;
    *m = (http_message){.arena = a, .body = m->body, .pool = m->pool};
}

void http_message_free(http_message *m)
{
    leave_pool(m);
    arena_free(&m->arena);
    buf_free(&m->body);
    *m = (http_message){0};
}

str http_headers_get(const http_headers *h, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < h->n; i++)
        if (h->v[i].name.n == n && !strncasecmp(h->v[i].name.p, name, n)) return h->v[i].value;
    return (str){0};
}
