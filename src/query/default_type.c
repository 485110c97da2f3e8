/* The rule for the default type. ui/src/model/default_type.ts has the same rule for the viewer. */
#include "query/default_type.h"

#include "base/ban.h"

enum { CPU, WAITING, BYTES_IN_USE, IN_USE, OTHER };

/* Compares prefixes, which also match perf's event names: cpu-clock, task-clock, cycles:P,
 * cpu_core/cycles/. */
unsigned default_type_rank(str type)
{
    static const struct {
        const char *begins;
        unsigned rank;
    } known[] = {{"cpu", CPU},
                 {"cycles", CPU},
                 {"task-clock", CPU},
                 {"off_cpu", WAITING},
                 {"off-cpu", WAITING},
                 {"wall", WAITING},
                 {"inuse_space", BYTES_IN_USE},
                 {"inuse", IN_USE}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_starts(type, str_of(known[i].begins))) return known[i].rank;
    return OTHER;
}

static bool has_value(const model *m, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        if (!s.n_values && s.n_times) return true; /* a timestamp alone counts 1 */
        for (size_t k = 0; k < s.n_values; k++)
            if (s.values[k]) return true;
    }
    return false;
}

uint32_t default_profile(const model *m, const bool *out)
{
    uint32_t n = (uint32_t)m->profiles.n, zero = n, best = n;
    unsigned rank = 0;
    bool own = m->scopes.n == 1; /* one scope: its first profile is the default (P-42) */
    for (uint32_t i = 0; i < n; i++) {
        const profile *p = &m->profiles.v[i];
        unsigned r = default_type_rank(dict_str(&m->dict, p->sample_type.type));
        if (out[i] || (best < n && r >= rank)) continue;
        if (!has_value(m, p)) {
            if (zero == n) zero = i;
            own = false; /* the first one was the default */
            continue;
        }
        best = i;
        rank = r;
        if (own) break;
    }
    return best < n ? best : zero;
}
