/* What the values of a profile mean in time: views over time share this. */
#include "query/extent.h"

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

extent_kind extent_kind_of(const model *m, const profile *p)
{
    str type = dict_str(&m->dict, p->sample_type.type);
    if (has_intervals(&m->dict, p)) return EXTENT_AFTER;
    bool clock = str_eq(type, STR("cpu")) || str_eq(type, STR("wall"));
    bool ns = str_eq(dict_str(&m->dict, p->sample_type.unit), STR("nanoseconds"));
    return clock && ns ? EXTENT_BEFORE : EXTENT_MOMENT;
}

void extent_of(extent_kind k, const sample *s, uint32_t i, uint64_t *start, uint64_t *end)
{
    uint64_t t = s->times[i];
    bool paired = s->n_values == s->n_times && s->values[i] > 0;
    uint64_t d = k != EXTENT_MOMENT && paired ? (uint64_t)s->values[i] : 0;
    *start = k == EXTENT_BEFORE ? (t > d ? t - d : 0) : t;
    *end = k == EXTENT_AFTER && t + d > t ? t + d : t;
}
