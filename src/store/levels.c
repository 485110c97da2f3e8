/* Chooses the newest profile of each series in each time bucket, for values that cannot be summed
 * over time (levels.h). Contributions are collected first and added at the end, when it is known
 * which profiles are the newest, and how long each level holds. */
#include "store/levels.h"

#include "base/time.h"
#include "query/cumulative.h"
#include "base/ban.h"

bool makes_no_sum(const model *m, const profile *p)
{
    return profile_is_level(m, p) || profile_is_cumulative(m, p);
}

bool series_makes_no_sum(const block_series *s, const tables *t)
{
    profile head = series_head_profile(&s->head);
    if (profile_is_level(&t->m, &head)) return true;
    for (size_t i = 0; i < s->profile_lists.n; i++)
        if (profile_is_cumulative(&t->m, &(profile){.attrs = t->lists.v[s->profile_lists.v[i]]}))
            return true;
    return false;
}

static uint32_t cell_of(levels *l, uint32_t series, int64_t bucket)
{
    if (!hash_index_room(&l->by_cell, l->a)) return UINT32_MAX;
    uint64_t h = hash_mix(hash_mix(l->by_cell.seed, series), (uint64_t)bucket);
    uint32_t i = hash_first(&l->by_cell, h);
    for (uint32_t at; hash_next(&l->by_cell, &i, h, &at); i++)
        if (l->cells.v[at].series == series && l->cells.v[at].bucket == bucket) return at;
    level_cell *c = vec_push(l->a, &l->cells);
    if (!c) return UINT32_MAX;
    *c = (level_cell){.series = series, .bucket = bucket};
    hash_put(&l->by_cell, i, h, (uint32_t)(l->cells.n - 1));
    return (uint32_t)(l->cells.n - 1);
}

bool levels_meet(levels *l, const model *m, const profile *p, uint32_t series, int64_t bucket,
                 uint64_t end, uint32_t *cell, bool *counts)
{
    *cell = cell_of(l, series, bucket);
    if (*cell == UINT32_MAX) return false;
    level_cell *c = &l->cells.v[*cell];
    *counts = end >= c->newest;
    if (end > c->newest) {
        c->newest = end;
        c->duration = p->duration_nano;
        c->level = profile_is_level(m, p);
        c->replaced++;
    }
    return true;
}

bool levels_add(levels *l, uint32_t cell, uint32_t row, int64_t v, uint64_t n)
{
    uint32_t replaced = l->cells.v[cell].replaced;
    if (!hash_index_room(&l->by_part, l->a)) return false;
    uint64_t h = hash_mix(hash_mix(l->by_part.seed, cell), row);
    uint32_t i = hash_first(&l->by_part, h), at;
    level_part *p = NULL;
    for (; !p && hash_next(&l->by_part, &i, h, &at); i++)
        if (l->parts.v[at].cell == cell && l->parts.v[at].row == row) p = &l->parts.v[at];
    if (!p) {
        if (!(p = vec_push(l->a, &l->parts))) return false;
        *p = (level_part){.cell = cell, .row = row, .replaced = replaced};
        hash_put(&l->by_part, i, h, (uint32_t)(l->parts.n - 1));
    }
    if (p->replaced != replaced) p->sum = 0, p->count = 0, p->replaced = replaced;
    p->sum = add_saturating(p->sum, v, NULL);
    p->count += n;
    return true;
}

/* ---- holding ---- */

#define HOLD 3                           /* intervals */
#define INTERVAL_UNKNOWN (60 * NS_PER_S) /* for a series of one profile without a duration */

/* The buckets in which a cell counts: [from, to). */
typedef struct held {
    size_t from, to;
} held;

static int by_series(const void *a, const void *b, void *cells)
{
    const level_cell *x = (const level_cell *)cells + *(const uint32_t *)a,
                     *y = (const level_cell *)cells + *(const uint32_t *)b;
    if (x->series != y->series) return x->series < y->series ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static int by_length(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the median time between the n cells of a series. */
static uint64_t usual_interval(const levels *l, const uint32_t *order, size_t n, uint64_t *scratch)
{
    uint64_t duration = l->cells.v[order[n - 1]].duration;
    for (size_t i = 1; i < n; i++) {
        uint64_t a = l->cells.v[order[i - 1]].newest, b = l->cells.v[order[i]].newest;
        scratch[i - 1] = b > a ? b - a : 0;
    }
    if (n < 2) return duration ? duration : INTERVAL_UNKNOWN;
    qsort(scratch, n - 1, sizeof *scratch, by_length);
    return scratch[(n - 1) / 2] > duration ? scratch[(n - 1) / 2] : duration;
}

/* Sets held[] for the n cells of a series, which are in order of time. */
static void hold_series(const levels *l, const uint32_t *order, size_t n, uint64_t start,
                        uint64_t step, size_t n_buckets, uint64_t *scratch, held *out)
{
    uint64_t longest, interval = usual_interval(l, order, n, scratch);
    if (ckd_mul(&longest, interval, (uint64_t)HOLD)) longest = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const level_cell *c = &l->cells.v[order[i]];
        held *h = &out[order[i]];
        h->from = c->bucket == LEVEL_EARLIER ? 0 : (size_t)c->bucket;
        h->to = c->bucket == LEVEL_EARLIER ? 0 : h->from + 1;
        if (!l->hold || !c->level) continue;
        uint64_t until;
        if (ckd_add(&until, c->newest, longest)) until = UINT64_MAX;
        size_t next = i + 1 < n ? (size_t)l->cells.v[order[i + 1]].bucket : n_buckets,
               last = until > start ? (size_t)((until - start - 1) / step) + 1 : 0;
        if (last > next) last = next;
        if (last > h->to) h->to = last;
    }
}

static bool find_held(const levels *l, uint64_t start, uint64_t step, size_t n_buckets, held *out)
{
    size_t n = l->cells.n;
    uint32_t *order = arena_new(l->a, uint32_t, n + 1);
    uint64_t *scratch = arena_new(l->a, uint64_t, n + 1);
    if (!order || !scratch) return false;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    if (n) qsort_r(order, n, sizeof *order, by_series, l->cells.v);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && l->cells.v[order[j]].series == l->cells.v[order[i]].series;) j++;
        hold_series(l, order + i, j - i, start, step, n_buckets, scratch, out);
    }
    return true;
}

bool levels_put(const levels *l, uint64_t start, uint64_t step, count_rows *rows)
{
    held *held_of = arena_new(l->a, held, l->cells.n + 1);
    if (!held_of || !find_held(l, start, step, rows->n_buckets, held_of)) return false;
    for (size_t i = 0; i < l->parts.n; i++) {
        const level_part *p = &l->parts.v[i];
        const level_cell *c = &l->cells.v[p->cell];
        if (p->replaced != c->replaced) continue;
        store_row *r = &rows->v.v[p->row];
        for (size_t k = held_of[p->cell].from; k < held_of[p->cell].to; k++) {
            r->sum[k] = add_saturating(r->sum[k], p->sum, NULL);
            if (r->series) r->series[k]++;
        }
        if (c->bucket != LEVEL_EARLIER) r->count[c->bucket] += p->count;
    }
    return true;
}
