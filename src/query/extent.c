/* What the values of a profile mean in time: views over time share this. */
#include "query/extent.h"

#include "query/unit.h"
#include "wire/carried.h"

#include "base/ban.h"

/* Returns whether the values are the durations of the observations. */
static bool has_intervals(const dict *d, const profile *p)
{
    if (str_eq(dict_str(d, p->sample_type.type), STR("off_cpu"))) return true;
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        const attribute *x = &d->attributes.v[refs_at(&d->attr_refs, p->attrs)[i]];
        if (x->value.kind == ANY_BOOL && str_eq(dict_str(d, x->key), STR(KILN_ATTR_EVENT_INTERVAL)))
            return x->value.i != 0;
    }
    return false;
}

extent extent_of(const model *m, const profile *p)
{
    const dict *d = &m->dict;
    str type = dict_str(d, p->sample_type.type), unit = dict_str(d, p->sample_type.unit);
    unit_info known = unit_of(unit);
    extent x = {.kind = EXTENT_MOMENT,
                .most = UINT64_MAX,
                .unit = known.kind == UNIT_TIME ? known.factor : 1};
    if (has_intervals(d, p))
        x.kind = EXTENT_AFTER;
    else if (str_eq(unit, STR("nanoseconds")) &&
             (str_eq(type, STR("cpu")) || str_eq(type, STR("wall"))))
        x.kind = EXTENT_BEFORE;
    if (x.kind == EXTENT_BEFORE && p->period > 0 && str_eq(dict_str(d, p->period_type.unit), unit))
        x.most = (uint64_t)p->period;
    return x;
}

/* Returns a positive value in ns. */
static uint64_t length_of(const extent *x, int64_t value)
{
    double ns = (double)value * x->unit;
    uint64_t d = x->unit == 1 ? (uint64_t)value : ns < 0x1p63 ? (uint64_t)ns : INT64_MAX;
    return d < x->most ? d : x->most;
}

void extent_at(const extent *x, const sample *s, uint32_t i, uint64_t *start, uint64_t *end)
{
    uint64_t t = s->times[i], d = 0;
    if (x->kind != EXTENT_MOMENT && s->n_values == s->n_times && s->values[i] > 0)
        d = length_of(x, s->values[i]);
    *start = x->kind == EXTENT_BEFORE ? (t > d ? t - d : 0) : t;
    *end = x->kind == EXTENT_AFTER && t + d > t ? t + d : t;
}
