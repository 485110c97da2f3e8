/* HTTP headers and bodies, and the pool that limits their memory across all connections. */
#include "net/message.h"

#include "base/ban.h"
#include <strings.h>

enum {
    SMALL_HEAD = 4 << 10, /* accepted even when the pool is full, so that a rejection can be sent */
    EVICT_RATE =
        32 << 10, /* bytes per second: slower messages are evicted when the pool is full ... */
    KEEP_ARENA = 8 << 10,
    HEADER_COST = 96, /* accounted for each header in addition to its text */
};
#define EVICT_NS UINT64_C(2000000000) /* ... once they are this old */

/* ---- the pool ---- */

void http_message_complete(http_message *m)
{
    if (!m->coming) return;
    *(m->older ? &m->older->newer : &m->pool->oldest) = m->newer;
    *(m->newer ? &m->newer->older : &m->pool->newest) = m->older;
    m->older = m->newer = NULL;
    m->coming = false;
}

static void leave_pool(http_message *m)
{
    http_message_complete(m);
    if (m->pool) m->pool->used -= m->pooled;
    m->pooled = 0;
}

static void charge(http_message *m, size_t n)
{
    http_pool *p = m->pool;
    if (!p) return;
    p->used += n, m->pooled += n;
    if (m->coming) return;
    m->coming = true;
    m->began = p->now;
    m->older = p->newest;
    *(m->older ? &m->older->newer : &p->oldest) = m;
    p->newest = m;
}

static void free_body(http_message *m)
{
    if (m->pool)
        body_cache_give(&m->pool->body_cache, &m->body);
    else
        buf_free(&m->body);
}

static void drop_body(http_message *m)
{
    size_t limit = m->body.limit;
    leave_pool(m);
    free_body(m);
    m->body = (buf){.limit = limit};
}

static bool fits(const http_pool *p, size_t max, size_t n)
{
    return p->used <= max && n <= max - p->used;
}

static bool is_slow(const http_message *m)
{
    uint64_t ms = (m->pool->now - m->began) / 1000000;
    return m->pooled < ms * EVICT_RATE / 1000;
}

static bool make_room(http_message *m, size_t max, size_t n)
{
    http_pool *p = m->pool;
    for (http_message *x = p->oldest, *next; x && !fits(p, max, n); x = next) {
        next = x->newer;
        if (p->now - x->began < EVICT_NS) break;
        if (x == m || !is_slow(x)) continue;
        x->failure = HTTP_OVERLOADED;
        drop_body(x);
        p->evicted = true;
    }
    return fits(p, max, n);
}

static bool has_room(http_message *m, size_t n)
{
    const http_pool *p = m->pool;
    if (!p) return true;
    size_t max = m->pooled + n > HTTP_SMALL_BODY ? p->max - p->max / 4 : p->max;
    return make_room(m, max, n);
}

/* May exceed pool->max by a quarter, so that rejections can be sent. */
bool http_message_enter(http_message *m, size_t n, bool must)
{
    if (m->pool && !make_room(m, m->pool->max + m->pool->max / 4, n) && !must) return false;
    charge(m, n);
    return true;
}

void http_message_drop_body(http_message *m) { drop_body(m); }

/* ---- headers and bodies ---- */

str http_message_copy(http_message *m, str text)
{
    char *p = arena_alloc(&m->arena, text.n + 1);
    if (!p) return (str){0};
    if (text.n) memcpy(p, text.p, text.n);
    p[text.n] = '\0';
    return (str){p, text.n};
}

static bool count_head(http_message *m, str name, str value, err *e)
{
    if (name.n > HTTP_MAX_HEAD - m->n_head || value.n > HTTP_MAX_HEAD - m->n_head - name.n)
        return err_set(e, ERR_LIMIT, "the headers are larger than %d bytes", HTTP_MAX_HEAD);
    size_t n = name.n + value.n,
           cost = 2 * n + HEADER_COST; /* arena blocks double in size, so half may be unused */
    if (m->n_head + n > SMALL_HEAD && !has_room(m, cost))
        return err_set(e, ERR_SYS, "the server has no memory for more requests; retry later");
    m->n_head += n;
    charge(m, cost);
    return true;
}

bool http_message_copy_head(http_message *m, str text, str *out, err *e)
{
    if (!count_head(m, (str){0}, text, e)) return false;
    *out = http_message_copy(m, text);
    return out->p || err_memory(e);
}

bool http_message_add(http_message *m, http_headers *to, str name, str value, err *e)
{
    if (m->head.n + m->trailers.n >= HTTP_MAX_HEADERS)
        return err_set(e, ERR_LIMIT, "more than %d headers", HTTP_MAX_HEADERS);
    if (!count_head(m, name, value, e)) return false;
    http_header h = {http_message_copy(m, name), http_message_copy(m, value)};
    http_header *slot = h.name.p && h.value.p ? vec_push(&m->arena, to) : NULL;
    if (!slot) return err_memory(e);
    *slot = h;
    return true;
}

bool http_message_body(http_message *m, str bytes, err *e)
{
    buf_str(&m->body, bytes);
    if (!m->body.failed) return true;
    return err_set(e, ERR_LIMIT, "the body is larger than the limit of %zu bytes", m->body.limit);
}

static void put_body(http_message *m, str bytes)
{
    size_t more = m->expected > bytes.n ? m->expected : bytes.n;
    if (m->pool && !m->body.p && bytes.n) body_cache_take(&m->pool->body_cache, more, &m->body);
    buf_str(&m->body, bytes);
}

void http_message_body_or_fail(http_message *m, str bytes)
{
    if (m->failure) return;
    if (m->body.limit && bytes.n > m->body.limit - m->body.n)
        m->failure = HTTP_TOO_LARGE;
    else if (!has_room(m, bytes.n))
        m->failure = HTTP_OVERLOADED;
    else
        put_body(m, bytes);
    if (m->body.failed) m->failure = HTTP_OVERLOADED;
    if (m->failure)
        drop_body(m);
    else
        charge(m, bytes.n);
}

void http_message_move(http_message *from, http_message *to)
{
    http_message_complete(from);
    *to = *from;
    *from = (http_message){.pool = to->pool, .failure = to->failure, .body.limit = to->body.limit};
}

void http_message_reset(http_message *m)
{
    leave_pool(m);
    if (m->arena.used > KEEP_ARENA)
        arena_free(&m->arena);
    else
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
    free_body(m);
    *m = (http_message){0};
}

static bool same_word(str a, str b) { return a.n == b.n && (!a.n || !strncasecmp(a.p, b.p, a.n)); }

str http_headers_get(const http_headers *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++)
        if (same_word(h->v[i].name, str_of(name))) return h->v[i].value;
    return (str){0};
}

/* ---- quality values (RFC 9110, 12.4) ---- */

/* Returns the trimmed text before `end`, or all of it, and sets *rest to the text after `end`. */
static str next_part(str *rest, char end)
{
    const char *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    str part = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
    size_t used = part.n + (at != NULL);
    *rest = (str){rest->p + used, rest->n - used};
    while (part.n && (part.p[0] == ' ' || part.p[0] == '\t')) part.p++, part.n--;
    while (part.n && (part.p[part.n - 1] == ' ' || part.p[part.n - 1] == '\t')) part.n--;
    return part;
}

/* Returns the value of ;q=0.25 in thousandths, or 1000 when it is missing. */
static int weight_of(str params)
{
    while (params.n) {
        str p = next_part(&params, ';');
        if (p.n < 3 || (p.p[0] | 32) != 'q' || p.p[1] != '=') continue;
        int v = (p.p[2] - '0') * 1000, unit = 100;
        for (size_t i = 4; i < p.n && unit; i++, unit /= 10) v += unit * (p.p[i] - '0');
        return v < 0 ? 0 : v > 1000 ? 1000 : v;
    }
    return 1000;
}

int http_headers_quality(const http_headers *h, const char *name, str what)
{
    for (size_t i = 0; i < h->n; i++) {
        if (!same_word(h->v[i].name, str_of(name))) continue;
        for (str rest = h->v[i].value; rest.n;) {
            str entry = next_part(&rest, ',');
            if (same_word(next_part(&entry, ';'), what)) return weight_of(entry);
        }
    }
    return -1;
}
