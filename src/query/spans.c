/* What each span of a trace took. */
#include "query/timeline.h"

#include "query/internal.h"

#include "base/ban.h"

typedef struct finding {
    arena *a;
    span_totals *out;
    hash_index index;
    uint32_t *of_link; /* by link of the part: position + 1 */
} finding;

static bool total_of(finding *x, const link_ids *l, uint32_t *at, err *e)
{
    if (!hash_index_room(&x->index, x->a)) return query_no_memory(e);
    uint64_t h = hash_bytes(l, sizeof *l, x->index.seed);
    uint32_t k = hash_first(&x->index, h);
    for (; hash_next(&x->index, &k, h, at); k++)
        if (!memcmp(&x->out->v.v[*at].link, l, sizeof *l)) return true;
    span_total *t = vec_push(x->a, &x->out->v);
    if (!t) return query_no_memory(e);
    t->link = *l;
    *at = (uint32_t)(x->out->v.n - 1);
    hash_put(&x->index, k, h, *at);
    return true;
}

static bool add_row(finding *x, const view_part *p, const view_row *r, err *e)
{
    static const link_ids none;
    bool saturated = false;
    sample s = sample_at(p->m, p->p, r->sample);
    uint32_t at = 0, *slot = &x->of_link[s.link];
    if (!*slot) {
        if (!total_of(x, s.link ? &p->m->dict.links.v[s.link] : &none, &at, e)) return false;
        *slot = at + 1;
    }
    span_total *t = &x->out->v.v[*slot - 1];
    t->sum = add_clamped(t->sum, r->value, &saturated);
    t->n_samples++;
    for (uint32_t i = 0; i < s.n_times; i++) {
        if (!view_has_time(p, s.times[i])) continue;
        if (!t->first || s.times[i] < t->first) t->first = s.times[i];
        if (s.times[i] > t->last) t->last = s.times[i];
    }
    return true;
}

static int larger_first(const void *a, const void *b)
{
    const span_total *x = a, *y = b;
    if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
    return memcmp(&x->link, &y->link, sizeof x->link);
}

bool spans_of(const view *v, arena *a, span_totals *out, err *e)
{
    finding x = {.a = a, .out = out};
    *out = (span_totals){0};
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        if (!k || p->m != v->parts.v[k - 1].m) {
            x.of_link = arena_new(a, uint32_t, p->m->dict.links.n + 1);
            if (!x.of_link) return query_no_memory(e);
        }
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++)
            if (!add_row(&x, p, &v->rows.v[i], e)) return false;
    }
    if (out->v.n) qsort(out->v.v, out->v.n, sizeof *out->v.v, larger_first);
    return true;
}
