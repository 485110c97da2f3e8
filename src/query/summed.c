/* Reads the attributes of a sum of profiles. */
#include "query/summed.h"

#include "wire/carried.h"

#include "base/ban.h"

summed profile_summed(const model *m, const profile *p)
{
    const dict *d = &m->dict;
    summed out = {0};
    bool counted = false, squared = false;
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        const attribute *x = &d->attributes.v[refs_at(&d->attr_refs, p->attrs)[i]];
        str key = dict_str(d, x->key);
        if (x->value.kind == ANY_INT && x->value.i >= 0 && str_eq(key, STR(KILN_ATTR_SUM_SAMPLES)))
            out.n_samples = (uint64_t)x->value.i, counted = true;
        if (x->value.kind == ANY_INT && x->value.i >= 0 &&
            str_eq(key, STR(KILN_ATTR_SUM_OBSERVATIONS)))
            out.n_observations = (uint64_t)x->value.i;
        if (x->value.kind == ANY_DOUBLE && x->value.d >= 0 &&
            str_eq(key, STR(KILN_ATTR_SUM_SQUARES)))
            out.squares = x->value.d, squared = true;
        if (x->value.kind == ANY_INT && str_eq(key, STR(KILN_ATTR_SUM_ABSOLUTE)))
            out.absolute = x->value.i;
    }
    if (out.n_observations < out.n_samples)
        out.n_observations = out.n_samples; /* Kiln 0.1 does not write n_observations */
    out.is = counted && squared;
    return out;
}
