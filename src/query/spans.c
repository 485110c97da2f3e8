/* Sums the samples of each span by type and thread. */
#include "query/timeline.h"

#include "query/extent.h"
#include "query/internal.h"

#include "base/ban.h"

typedef struct finding {
    const model *m;
    arena *a;
    span_rows *out;
    hash_index index;
} finding;

static bool type_of(finding *x, const profile *p, uint32_t *out, err *e)
{
    span_type t = {dict_str(&x->m->dict, p->sample_type.type),
                   dict_str(&x->m->dict, p->sample_type.unit)};
    for (*out = 0; *out < x->out->types.n; ++*out)
        if (str_eq(x->out->types.v[*out].type, t.type) &&
            str_eq(x->out->types.v[*out].unit, t.unit))
            return true;
    span_type *slot = vec_push(x->a, &x->out->types);
    if (!slot) return err_memory(e);
    *slot = t;
    return true;
}

static bool row_of(finding *x, const link_ids *l, uint32_t type, uint32_t thread, span_row **out,
                   err *e)
{
    uint32_t at;
    if (!hash_index_room(&x->index, x->a)) return err_memory(e);
    uint64_t h = hash_bytes(l, sizeof *l, x->index.seed);
    h = hash_mix(h, (uint64_t)type << 32 | thread);
    uint32_t k = hash_first(&x->index, h);
    for (; hash_next(&x->index, &k, h, &at); k++) {
        *out = &x->out->v.v[at];
        if ((*out)->type == type && (*out)->thread == thread &&
            !memcmp(&(*out)->link, l, sizeof *l))
            return true;
    }
    if (!(*out = vec_push(x->a, &x->out->v))) return err_memory(e);
    **out = (span_row){.link = *l, .type = type, .thread = thread};
    hash_put(&x->index, k, h, (uint32_t)(x->out->v.n - 1));
    return true;
}

static bool add_sample(finding *x, const profile *p, const extent *length, uint32_t type,
                       const sample *s, err *e)
{
    uint32_t thread, state;
    span_row *r;
    if (!s->link) return true;
    if (!thread_table_find(&x->out->threads, x->m, p, s, &thread, &state, e) ||
        !row_of(x, &x->m->dict.links.v[s->link], type, thread, &r, e))
        return false;
    r->sum = add_saturating(r->sum, sample_total(s, NULL), NULL);
    r->n_samples++;
    for (uint32_t i = 0; i < s->n_times; i++) {
        if (!r->first || s->times[i] < r->first) r->first = s->times[i];
        if (s->times[i] > r->last) r->last = s->times[i];
        uint64_t start, end;
        extent_at(length, s, i, &start, &end);
        if (!r->end || start < r->start) r->start = start;
        if (end > r->end) r->end = end;
    }
    return true;
}

static int by_samples(const void *a, const void *b)
{
    const span_row *x = a, *y = b;
    if (x->n_samples != y->n_samples) return x->n_samples > y->n_samples ? -1 : 1;
    int d = memcmp(&x->link, &y->link, sizeof x->link);
    if (d) return d;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

bool spans_of(const model *m, stopper *stop, arena *a, span_rows *out, err *e)
{
    finding x = {.m = m, .a = a, .out = out};
    *out = (span_rows){0};
    if (!thread_table_init(&out->threads, a, e)) return false;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        uint32_t type;
        if (!p->link) continue;
        extent length = extent_of(m, p);
        if (!type_of(&x, p, &type, e)) return false;
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(m, p, k);
            if (!stopper_step(stop, 1, e)) return false;
            if (!add_sample(&x, p, &length, type, &s, e)) return false;
        }
    }
    if (out->v.n) qsort(out->v.v, out->v.n, sizeof *out->v.v, by_samples);
    return true;
}
