/* Subtracts a cumulative profile from a later one: joins the later profile and the negated earlier
 * one, as merging adds equal samples. */
#include "pyroscope/subtract.h"

#include "model/merge.h"
#include "base/ban.h"

static bool is_cumulative(const model *m, const profile *p, const sample_types *t)
{
    const sample_type_rule *r = sample_types_find(t, dict_str(&m->dict, p->sample_type.type));
    return r && r->cumulative;
}

/* Copies the model with negated values and without the samples of types that are not cumulative.
 * Its profiles have no time, so that the joined ones keep the times of the later profile. */
static bool negate(const model *from, const sample_types *t, arena *a, model *out)
{
    *out = *from;
    out->values.v = arena_array(a, from->values.n, sizeof *from->values.v);
    out->profiles.v = arena_array(a, from->profiles.n, sizeof *from->profiles.v);
    if (!out->values.v || !out->profiles.v) return false;
    for (size_t i = 0; i < from->values.n; i++) {
        int64_t v = from->values.v[i];
        out->values.v[i] = v == INT64_MIN ? INT64_MAX : -v;
    }
    for (size_t i = 0; i < from->profiles.n; i++) {
        profile *p = &out->profiles.v[i];
        *p = from->profiles.v[i];
        p->time_unix_nano = p->duration_nano = 0;
        if (!is_cumulative(from, p, t)) p->n_samples = 0;
    }
    return true;
}

/* Keeps the samples whose sum is positive. */
static bool keep_positive(model *m, profile *p, arena *a)
{
    uint32_t *stack = arena_new(a, uint32_t, p->n_samples + 1);
    uint32_t *link = arena_new(a, uint32_t, p->n_samples + 1);
    uint32_t *off = arena_new(a, uint32_t, p->n_samples + 1);
    size_t n = 0, first = m->values.n;
    if (!stack || !link || !off) return false;
    off[0] = (uint32_t)m->sample_attrs.n;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        int64_t total = sample_total(&s, NULL);
        if (total <= 0) continue;
        if (m->sample_attrs.n > UINT32_MAX - s.n_attrs || m->values.n >= UINT32_MAX ||
            !vec_reserve(a, &m->sample_attrs, s.n_attrs) || !vec_reserve(a, &m->values, 1))
            return false;
        s = sample_at(m, p, i); /* the pools may have moved */
        for (uint32_t k = 0; k < s.n_attrs; k++)
            m->sample_attrs.v[m->sample_attrs.n++] = s.attrs[k];
        m->values.v[m->values.n++] = total;
        stack[n] = s.stack, link[n] = s.link;
        off[++n] = (uint32_t)m->sample_attrs.n;
    }
    p->n_samples = n;
    p->stack = stack;
    p->link = link;
    p->attr_span = (spans){.off = off};
    p->value_span = (spans){.base = (uint32_t)first, .stride = 1};
    p->time_span = (spans){0};
    return true;
}

bool pyro_subtract(const model *now, const model *before, const sample_types *t, ledger *l,
                   arena *a, model *out, err *e)
{
    model negative;
    if (!negate(before, t, a, &negative)) return arena_spent(a, e);
    if (!model_merge((const model *[]){now, &negative}, 2, &(merge_opts){.join = true, .ledger = l},
                     a, out, e))
        return false;
    for (size_t i = 0; i < out->profiles.n; i++)
        if (is_cumulative(out, &out->profiles.v[i], t) &&
            !keep_positive(out, &out->profiles.v[i], a))
            return arena_spent(a, e);
    return true;
}
