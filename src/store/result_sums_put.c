/* Converts finished sums to a model. Samples without attributes are written as columns directly,
 * without the builder, because there may be millions. */
#include "store/summing.h"

#include "base/ban.h"

/* Adds resource and scope of a class, unless the class before it has the same. */
static void put_envelope(summing *x, const sum_class *c, const sum_class *before)
{
    bool same = before && (!x->by_series || resource_equal(&before->resource, &c->resource));
    if (!same) builder_resource(&x->b, x->by_series ? &c->resource : NULL);
    if (!same || (x->by_series && !scope_equal(&before->scope, &c->scope)))
        builder_scope(&x->b, x->by_series ? &c->scope : NULL);
}

static void put_class(summing *x, const sum_class *c, const sum_class *before, uint32_t first_row)
{
    put_envelope(x, c, before);
    profile *p = builder_profile(&x->b);
    p->sample_type = c->head.sample_type;
    p->has_sample_type = c->head.has_sample_type;
    p->period_type = c->head.period_type;
    p->period = c->head.period;
    p->time_unix_nano = c->first <= c->last ? c->first : 0;
    p->duration_nano = c->first <= c->last ? c->last - c->first : 0;
    if (x->leaves)
        summary_put_attrs(&c->summary, &x->b);
    else if (x->by_series)
        summary_put(&c->summary, &x->b, p);
    for (uint32_t i = first_row; i; i = x->rows.v[i - 1].next) {
        const sum_row *r = &x->rows.v[i - 1];
        builder_sample(&x->b, &(sample){.stack = r->stack,
                                        .attrs = r->n_list ? x->lists.v + r->list_at : NULL,
                                        .n_attrs = r->n_list,
                                        .values = &r->sum,
                                        .n_values = 1});
    }
}

bool summing_put(summing *x, err *e)
{
    uint32_t *first = arena_new(x->keep, uint32_t, x->classes.n);
    if (!first || (x->by_series && !builder_index(&x->b))) return err_memory(e);
    for (size_t i = x->rows.n; i-- > 0;) {
        sum_row *r = &x->rows.v[i];
        if (r->replaced != x->classes.v[r->class].replaced) continue;
        r->next = first[r->class];
        first[r->class] = (uint32_t)i + 1;
    }
    const sum_class *before = NULL;
    for (size_t i = 0; i < x->classes.n; i++) {
        const sum_class *c = &x->classes.v[i];
        if (!c->selected) continue;
        put_class(x, c, before, first[i]);
        before = c;
    }
    return true;
}

bool summing_put_columns(summing *x, model *m, err *e)
{
    size_t n = 0, at = 0, n_put = 0;
    for (size_t i = 0; i < x->classes.n; i++) n += x->classes.v[i].stacks.n;
    m->values.v = arena_array(x->a, n, sizeof *m->values.v);
    if (!m->values.v) return err_memory(e);
    m->values.n = m->values.cap = n;
    for (size_t i = 0; i < x->classes.n; i++) {
        const sum_class *c = &x->classes.v[i];
        if (!c->selected) continue;
        profile *p = &m->profiles.v[n_put++];
        p->n_samples = c->stacks.n;
        p->stack = c->stacks.v;
        p->value_span = (spans){.base = (uint32_t)at, .stride = 1};
        if (c->sums.n) memcpy(m->values.v + at, c->sums.v, c->sums.n * sizeof *c->sums.v);
        at += c->sums.n;
    }
    return true;
}
