/* Counts the observations of a profile. ui/src/model/observed.ts has the same rule for the
 * viewer. */
#include "query/observed.h"

#include "query/unit.h"
#include "base/ban.h"

/* A smaller period is a placeholder: tools that do not know the period write 1. */
static const int64_t LEAST_PERIOD_NS = 1000;

/* Collapsed stacks have no unit, so values count as samples. Sums above this are times or bytes. */
static const double MOST_COUNTED = 1e9;

static bool same_type(value_type a, value_type b) { return a.type == b.type && a.unit == b.unit; }

/* Returns the value of one observation; 0: not known. */
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
        return o->n + o->n_sums; /* a sample is at least one observation */
    return sums < 0x1p62 ? o->n + (uint64_t)sums : UINT64_MAX;
}
