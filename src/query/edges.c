/* Computes the edges between shown frames. An edge counts once per stack, so each edge stores the
 * last stack that counted it. */
#include "query/flat.h"

#include "query/internal.h"

#include "base/ban.h"

typedef struct edge_search {
    arena *a;
    uint32_t *row_of; /* by frame: row in the flat profile plus 1; 0: not shown */
    VEC(edge) v;      /* from and to are rows until all edges are found */
    u32s stamp;       /* by edge: the last stack that counted it */
    hash_index index;
} edge_search;

static edge *edge_between(edge_search *x, uint32_t from, uint32_t to, uint32_t **stamp, err *e)
{
    if (!hash_index_room(&x->index, x->a)) return err_memory(e), NULL;
    uint64_t h = hash_mix(x->index.seed, (uint64_t)from << 32 | to);
    uint32_t k = hash_first(&x->index, h), at;
    for (; hash_next(&x->index, &k, h, &at); k++)
        if (x->v.v[at].from == from && x->v.v[at].to == to)
            return *stamp = &x->stamp.v[at], &x->v.v[at];
    edge *new_one = vec_push(x->a, &x->v);
    uint32_t *s = new_one ? vec_push(x->a, &x->stamp) : NULL;
    if (!s) return err_memory(e), NULL;
    *new_one = (edge){.from = from, .to = to, .inlined = true};
    hash_put(&x->index, k, h, (uint32_t)(x->v.n - 1));
    *stamp = s;
    return new_one;
}

static bool add_stack(edge_search *x, const uint32_t *stack, const uint8_t *inlined, uint32_t n,
                      int64_t value, uint32_t stamp, err *e)
{
    uint32_t parent = 0; /* row + 1 */
    bool residual = false, saturated = false;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t row = x->row_of[stack[i]];
        if (!row) {
            residual = true;
            continue;
        }
        if (parent && parent != row) {
            uint32_t *last;
            edge *g = edge_between(x, parent - 1, row - 1, &last, e);
            if (!g) return false;
            if (*last != stamp) {
                *last = stamp;
                g->value = add_clamped(g->value, value, &saturated);
                g->residual |= residual;
                g->inlined &= inlined[i] != 0;
            }
        }
        parent = row;
        residual = false;
    }
    return true;
}

static bool find_edges(edge_search *x, const view *v, err *e)
{
    uint32_t *stack = view_scratch(v, e);
    uint8_t *inlined = stack ? arena_alloc(x->a, (size_t)v->max_depth + 1) : NULL;
    if (!inlined) return err_memory(e);
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            const view_row *r = &v->rows.v[i];
            if (!r->value) continue;
            uint32_t n = view_frames_inlined(v, p, r, stack, inlined);
            if (!add_stack(x, stack, inlined, n, r->value, (uint32_t)i + 1, e)) return false;
        }
    }
    return true;
}

/* ---- order ---- */

typedef struct sorting {
    const flat *f;
    const edge *v;
} sorting;

static int by_weight(const sorting *s, const edge *x, const edge *y)
{
    int64_t p = abs_clamped(x->value), q = abs_clamped(y->value);
    if (p != q) return p > q ? -1 : 1;
    int d = frame_cmp(s->f->frames, s->f->v[x->from].frame, s->f->v[y->from].frame);
    return d ? d : frame_cmp(s->f->frames, s->f->v[x->to].frame, s->f->v[y->to].frame);
}

static int by_caller(const void *a, const void *b, void *how)
{
    const edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return by_weight(how, x, y);
}

static int by_callee(const void *a, const void *b, void *how)
{
    const sorting *s = how;
    const edge *x = &s->v[*(const uint32_t *)a], *y = &s->v[*(const uint32_t *)b];
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return by_weight(s, x, y);
}

static bool arrange(edge_search *x, const flat *f, arena *a, edges *out, err *e)
{
    *out = (edges){.v = x->v.v, .n = x->v.n};
    out->in = arena_new(a, uint32_t, out->n + 1);
    out->first_out = arena_new(a, uint32_t, f->n + 1);
    out->first_in = arena_new(a, uint32_t, f->n + 1);
    if (!out->in || !out->first_out || !out->first_in) return err_memory(e);
    sorting how = {f, out->v};
    if (out->n) qsort_r(out->v, out->n, sizeof *out->v, by_caller, &how);
    for (uint32_t i = 0; i < out->n; i++) {
        out->in[i] = i;
        out->first_out[out->v[i].from + 1]++;
        out->first_in[out->v[i].to + 1]++;
    }
    for (size_t i = 0; i < f->n; i++) {
        out->first_out[i + 1] += out->first_out[i];
        out->first_in[i + 1] += out->first_in[i];
    }
    if (out->n) qsort_r(out->in, out->n, sizeof *out->in, by_callee, &how);
    for (size_t i = 0; i < out->n; i++) {
        out->v[i].from = f->v[out->v[i].from].frame;
        out->v[i].to = f->v[out->v[i].to].frame;
    }
    return true;
}

static void drop_light(edge_search *x, int64_t cutoff)
{
    size_t n = 0;
    for (size_t i = 0; i < x->v.n; i++)
        if (abs_clamped(x->v.v[i].value) >= cutoff) x->v.v[n++] = x->v.v[i];
    x->v.n = n;
}

bool edges_of(const view *v, const flat *f, const flat_opts *o, arena *a, edges *out, err *e)
{
    edge_search x = {.a = a, .row_of = arena_new(a, uint32_t, v->frames->v.n + 1)};
    if (!x.row_of) return err_memory(e);
    for (uint32_t i = 0; i < f->n; i++) x.row_of[f->v[i].frame] = i + 1;
    if (!find_edges(&x, v, e)) return false;
    double cutoff = (double)f->flat_sum * o->edge_fraction;
    drop_light(&x, (int64_t)(cutoff < 0 ? -cutoff : cutoff));
    return arrange(&x, f, a, out, e);
}
