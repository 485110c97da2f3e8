/* Sums self and cumulative values by frame, sorts, and applies the cut-offs of pprof. */
#include "query/flat.h"

#include "query/internal.h"

#include "base/ban.h"

/* ---- sums ---- */

typedef struct sums {
    uint32_t *seen; /* by frame: the last row that contained it, plus 1 */
    int64_t *flat, *cum;
} sums;

static bool add_up(const view *v, sums *s, err *e)
{
    uint32_t *stack = view_scratch(v, e);
    bool saturated = false;
    if (!stack) return false;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            const view_row *r = &v->rows.v[i];
            if (!r->value) continue;
            uint32_t n = view_frames(v, p, r, stack), stamp = (uint32_t)i + 1;
            if (!stopper_step(v->stop, 1 + n, e)) return false;
            if (n) s->flat[stack[0]] = add_clamped(s->flat[stack[0]], r->value, &saturated);
            for (uint32_t f = 0; f < n; f++) {
                uint32_t x = stack[f];
                if (s->seen[x] == stamp) continue;
                s->seen[x] = stamp;
                s->cum[x] = add_clamped(s->cum[x], r->value, &saturated);
            }
        }
    }
    return true;
}

/* ---- rows ---- */

typedef struct sorting {
    const frame_table *frames;
    bool by_cum;
} sorting;

static int row_order(const void *a, const void *b, void *how)
{
    const sorting *s = how;
    const flat_row *x = a, *y = b;
    int64_t p = abs_clamped(s->by_cum ? x->cum : x->flat),
            q = abs_clamped(s->by_cum ? y->cum : y->flat);
    if (p != q) return p > q ? -1 : 1;
    int d = frame_cmp(s->frames, x->frame, y->frame);
    if (d) return d;
    p = abs_clamped(s->by_cum ? x->flat : x->cum), q = abs_clamped(s->by_cum ? y->flat : y->cum);
    if (p != q) return p > q ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Returns a fraction of a sum, rounded towards zero as in pprof. */
static int64_t part_of(int64_t sum, double fraction)
{
    double x = (double)sum * fraction;
    if (x < 0) x = -x;
    return x >= 9.2e18 ? INT64_MAX : (int64_t)x;
}

static void collect(const sums *s, size_t n_frames, flat *out)
{
    bool saturated = false;
    for (size_t i = 0; i < n_frames; i++)
        out->flat_sum = add_clamped(out->flat_sum, s->flat[i], &saturated);
    for (uint32_t i = 0; i < n_frames; i++)
        if (s->flat[i] || s->cum[i]) out->v[out->n++] = (flat_row){i, s->flat[i], s->cum[i]};
}

static void drop_small(flat *out, const flat_opts *o)
{
    size_t n = 0;
    out->cutoff = part_of(out->flat_sum, o->node_fraction);
    for (size_t i = 0; i < out->n; i++)
        if (abs_clamped(out->v[i].cum) >= out->cutoff) out->v[n++] = out->v[i];
    out->n_dropped = out->n - n;
    out->n_all = out->n = n;
}

bool flat_of(const view *v, const flat_opts *o, arena *a, flat *out, err *e)
{
    size_t n = v->frames->v.n;
    sums s = {arena_new(a, uint32_t, n + 1), arena_new(a, int64_t, n + 1),
              arena_new(a, int64_t, n + 1)};
    *out = (flat){.frames = v->frames, .v = arena_array(a, n + 1, sizeof *out->v)};
    if (!s.seen || !s.flat || !s.cum || !out->v) return err_memory(e);
    if (!add_up(v, &s, e)) return false;
    collect(&s, n, out);
    drop_small(out, o);
    sorting how = {v->frames, o->by_cum};
    qsort_r(out->v, out->n, sizeof *out->v, row_order, &how);
    if (o->node_count && out->n > o->node_count) out->n = o->node_count;
    return true;
}
