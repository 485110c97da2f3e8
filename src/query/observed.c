#include "query/observed.h"

#include "query/unit.h"
#include "base/ban.h"

/* A period below this is a placeholder: tools write 1 when they do not know theirs. */
static const int64_t LEAST_PERIOD_NS = 1000;

/* Folded files have no unit.  A sum beyond this is an amount of time or bytes that such a file calls samples. */
static const double MOST_COUNTED = 1e9;

static bool same_type(value_type a, value_type b) { return a.type == b.type && a.unit == b.unit; }

/* The value of one observation; 0: the profile does not say. */
static double observation_size(const dict *d, const profile *p, double sum)
{
    str type = dict_str(d, p->sample_type.type), unit = dict_str(d, p->sample_type.unit);
    bool of_samples = str_eq(type, STR("samples")) || str_eq(unit, STR("samples")) ||
                      str_eq(unit, STR("{samples}"));
    if (of_samples && unit_counts(unit)) return sum < MOST_COUNTED ? 1 : 0;
    if (!same_type(p->sample_type, p->period_type) || !str_eq(unit, STR("nanoseconds"))) return 0;
    return p->period >= LEAST_PERIOD_NS ? (double)p->period : 0;
}

uint64_t observed_total(const observed *o, const dict *d, const profile *p)
{
    double size = o->n_sums ? observation_size(d, p, o->sum) : 0;
    double sums = size > 0 ? o->sum / size + 0.5 : 0;
    if (!(sums > (double)o->n_sums))
        return o->n + o->n_sums; /* a sample is an observation at least */
    return sums < 0x1p62 ? o->n + (uint64_t)sums : UINT64_MAX;
}
