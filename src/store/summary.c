/* Collects the summary of the profiles of a sum (summary.h). */
#include "store/summary.h"

#include "wire/carried.h"
#include "base/ban.h"

void summary_attrs(summary *t, importer *g, const profile *p)
{
    static const char *const telling[SUMMARY_ATTRS] = {
        PPROF_ATTR_DROP_FRAMES, PPROF_ATTR_KEEP_FRAMES, KILN_ATTR_AGGREGATION_TEMPORALITY,
        KILN_ATTR_EVENT_INTERVAL};
    const dict *d = &g->m->dict;
    const uint32_t *list = refs_at(&d->attr_refs, p->attrs);
    for (size_t k = 0; k < SUMMARY_ATTRS; k++)
        for (uint32_t i = 0; i < p->attrs.n; i++) {
            const attribute *v = &d->attributes.v[list[i]];
            if (!str_eq(dict_str(d, v->key), str_of(telling[k]))) continue;
            t->drops |= k == 0;
            t->attrs[t->n_attrs++] = importer_attribute(g, list[i]);
            t->alone |=
                v->value.kind == ANY_STRING && str_eq(any_str(&v->value), STR("cumulative"));
            break;
        }
}

bool summary_matches(const summary *a, const summary *b)
{
    return !a->alone && !b->alone && a->n_attrs == b->n_attrs &&
           memcmp(a->attrs, b->attrs, a->n_attrs * sizeof *a->attrs) == 0;
}

void summary_sample(summary *t, const sample *s)
{
    uint32_t n = sample_observations(s);
    int64_t sum = sample_total(s, NULL);
    t->n_samples++;
    observed_add(&t->seen, s);
    t->negative |= sum < 0;
    t->absolute = add_saturating(t->absolute, sum == INT64_MIN ? INT64_MAX : llabs(sum), NULL);
    for (uint32_t i = 0; i < n; i++) {
        double v = s->n_values ? (double)s->values[i] : 1;
        t->squares += v * v;
    }
}

void summary_profile(summary *t, const model *m, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        span values = spans_at(&p->value_span, i), times = spans_at(&p->time_span, i);
        summary_sample(t, &(sample){.values = values.n ? m->values.v + values.at : NULL,
                                    .n_values = values.n,
                                    .n_times = times.n});
    }
}

void summary_time(summary *t, const store_selector *q, const profile *p)
{
    uint64_t from = p->time_unix_nano, to;
    if (ckd_add(&to, from, p->duration_nano)) to = UINT64_MAX;
    if (from && q->start > from) from = q->start;
    if (from && q->end && q->end < to) to = q->end;
    if (from && (!t->first || from < t->first)) t->first = from;
    if (to > from && ckd_add(&t->duration, t->duration, to - from)) t->duration = UINT64_MAX;
}

void summary_reset(summary *t)
{
    summary kept = {.n_attrs = t->n_attrs, .alone = t->alone, .drops = t->drops};
    memcpy(kept.attrs, t->attrs, sizeof kept.attrs);
    *t = kept;
}

void summary_put_attrs(const summary *t, builder *b)
{
    if (t->n_attrs) builder_profile_attrs(b, t->attrs, t->n_attrs);
}

void summary_put(const summary *t, builder *b, profile *p)
{
    uint32_t attrs[SUMMARY_ATTRS + 4], n = t->n_attrs;
    any squares = {.kind = ANY_DOUBLE, .d = t->squares};
    memcpy(attrs, t->attrs, n * sizeof *attrs);
    attrs[n++] = builder_attribute_int(b, STR(KILN_ATTR_SUM_SAMPLES), (int64_t)t->n_samples);
    uint64_t observations = observed_total(&t->seen, &b->m.dict, p);
    attrs[n++] =
        builder_attribute_int(b, STR(KILN_ATTR_SUM_OBSERVATIONS),
                              observations < INT64_MAX ? (int64_t)observations : INT64_MAX);
    attrs[n++] = builder_attribute(b, STR(KILN_ATTR_SUM_SQUARES), &squares, (str){0});
    if (t->negative)
        attrs[n++] = builder_attribute_int(b, STR(KILN_ATTR_SUM_ABSOLUTE), t->absolute);
    builder_profile_attrs(b, attrs, n);
    if (t->first) p->time_unix_nano = t->first;
    p->duration_nano = t->duration;
}
