/* Builds the group of records that is written next (journal_group.h). Large records stay in the
 * caller's memory; padding aligns them so that O_DIRECT can write them. */
#include "store/journal_group.h"

#include "store/journal_file.h"
#include "base/hash_long.h"
#include "base/ban.h"

size_t journal_begin(journal_group *g)
{
    size_t at = g->copied.n;
    if (!buf_reserve(&g->copied, JOURNAL_RECORD)) return at;
    memset(g->copied.p + at, 0, JOURNAL_RECORD);
    g->copied.n += JOURNAL_RECORD;
    return at;
}

static void end_record(char *p, uint64_t n)
{
    uint64_t h = hash_long(p + JOURNAL_RECORD, (size_t)n);
    memcpy(p + 24, &n, 8);
    memcpy(p + 32, &h, 8);
}

void journal_end(journal_group *g, size_t at)
{
    if (g->copied.failed) return;
    uint64_t n = g->copied.n - at - JOURNAL_RECORD, zero = 0;
    end_record(g->copied.p + at, n);
    buf_put(&g->copied, &zero, (size_t)(-n & 7));
}

static void pad(buf *b)
{
    size_t more = (size_t)journal_even(b->n) - b->n;
    if (!more || !buf_reserve(b, more)) return;
    memset(b->p + b->n, 0, more);
    b->n += more;
}

bool journal_lend(journal_group *g, char *p, size_t n)
{
    if (g->n == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 16;
        journal_lent *v = realloc(g->v, cap * sizeof *v);
        if (!v) return false;
        g->v = v;
        g->cap = cap;
    }
    size_t end = JOURNAL_RECORD + n, copied = g->copied.n;
    pad(&g->copied);
    memset(p, 0, JOURNAL_RECORD);
    end_record(p, n);
    memset(p + end, 0, (size_t)journal_even(end) - end);
    g->v[g->n++] = (journal_lent){p, (size_t)journal_even(end), copied, g->copied.n};
    g->lent += (size_t)journal_even(end);
    return true;
}

static uint64_t number_some(char *from, const char *to, uint64_t seq, uint64_t salt)
{
    for (char *p = from; p < to; seq++) {
        uint64_t n;
        memcpy(&n, p + 24, 8);
        memcpy(p + 8, &seq, 8);
        memcpy(p + 16, &salt, 8);
        record_seal(p);
        p += JOURNAL_RECORD + (size_t)((n + 7) & ~UINT64_C(7));
    }
    return seq;
}

uint64_t journal_number(journal_group *g, uint64_t seq, uint64_t salt)
{
    size_t at = 0;
    for (size_t i = 0; i < g->n; i++) {
        const journal_lent *x = &g->v[i];
        if (at < x->copied) seq = number_some(g->copied.p + at, g->copied.p + x->copied, seq, salt);
        seq = number_some(x->p, x->p + 1, seq, salt);
        at = x->padded;
    }
    if (at == g->copied.n) return seq;
    return number_some(g->copied.p + at, g->copied.p + g->copied.n, seq, salt);
}

bool journal_even_out(journal_group *g)
{
    buf *b = &g->copied;
    size_t whole = (size_t)journal_even(b->n);
    if (!b->n) return true;
    if (b->head || b->cap < whole || (uintptr_t)b->p % JOURNAL_EVEN) {
        size_t cap = (size_t)journal_even(b->cap > whole ? b->cap : whole);
        char *p = aligned_alloc(JOURNAL_EVEN, cap);
        if (!p) return false;
        memcpy(p, b->p, b->n);
        buf to = {.p = p, .n = b->n, .cap = cap, .limit = b->limit};
        buf_free(b);
        *b = to;
    }
    pad(b);
    return true;
}

size_t journal_parts(const journal_group *g, str *out)
{
    size_t at = 0, n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const journal_lent *x = &g->v[i];
        if (x->padded > at) out[n++] = (str){g->copied.p + at, x->padded - at};
        out[n++] = (str){x->p, x->n};
        at = x->padded;
    }
    if (g->copied.n > at) out[n++] = (str){g->copied.p + at, g->copied.n - at};
    return n;
}

void journal_group_reset(journal_group *g, size_t keep)
{
    if (g->copied.cap > keep) buf_free(&g->copied);
    buf_reset(&g->copied);
    g->copied.failed = false;
    g->n = g->lent = 0;
}

void journal_group_free(journal_group *g)
{
    buf_free(&g->copied);
    free(g->v);
    *g = (journal_group){0};
}
