/* The growing buffer.  A backward writer (wire/otlp_encode.c) leaves free bytes before the contents;
 * growing uses them first. */
#include "base/buf.h"

#include "base/ban.h"

bool buf_reserve(buf *b, size_t more)
{
    if (b->failed) return false;
    size_t want, cap = b->cap < 256 ? 256 : b->cap;
    if (ckd_add(&want, b->n, more) || (b->limit && want > b->limit)) return !(b->failed = true);
    if (want <= b->cap) return true;
    while (cap < want) cap = cap > SIZE_MAX / 2 ? want : cap * 2;
    if (b->head) { /* use the free bytes before p first */
        char *base = b->p - b->head;
        memmove(base, b->p, b->n);
        b->p = base;
        b->cap += b->head;
        b->head = 0;
        if (b->cap >= want) return true;
    }
    char *p = realloc(b->p, cap);
    if (!p) return !(b->failed = true);
    b->p = p;
    b->cap = cap;
    return true;
}

void buf_put(buf *b, const void *p, size_t n)
{
    if (n == 0 || !buf_reserve(b, n)) return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void buf_putc(buf *b, char c)
{
    if (buf_reserve(b, 1)) b->p[b->n++] = c;
}

void buf_str(buf *b, str s) { buf_put(b, s.p, s.n); }

void buf_z(buf *b, const char *z) { buf_put(b, z, strlen(z)); }

void buf_printf(buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    /* vsnprintf writes a terminating NUL, which is not part of the contents. */
    bool limited = b->limit != 0;
    if (limited) b->limit++;
    if (n >= 0 && buf_reserve(b, (size_t)n + 1)) {
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    if (limited) b->limit--;
    va_end(again);
}

void buf_u64(buf *b, uint64_t v)
{
    char d[20];
    size_t k = sizeof d;
    do d[--k] = (char)('0' + v % 10);
    while (v /= 10);
    buf_put(b, d + k, sizeof d - k);
}

void buf_i64(buf *b, int64_t v)
{
    if (v < 0) buf_putc(b, '-');
    buf_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void buf_reset(buf *b)
{
    if (b->p) b->p -= b->head;
    b->cap += b->head;
    b->n = b->head = 0;
    b->failed = false;
}

void buf_free(buf *b)
{
    buf_reset(b);
    free(b->p);
    *b = (buf){.limit = b->limit};
}
