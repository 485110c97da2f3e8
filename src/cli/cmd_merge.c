/* `kiln merge`: prepares the inputs (--weight, cumulative profiles); cmd_convert.c reads, joins and
 * writes. Unlike queries, it keeps the attributes of emptied profiles, because only profiles with
 * equal attributes are joined. */
#include "cli/convert.h"
#include "cli/number.h"
#include "query/cumulative.h"

#include "base/ban.h"

/* Multiplies all values by w and rounds.  Fails if a sample has only timestamps. */
static bool weigh(model *m, double w, err *e)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        for (size_t k = 0; k < p->n_samples; k++)
            if (!spans_at(&p->value_span, k).n && spans_at(&p->time_span, k).n)
                return err_set(e, ERR_MISMATCH,
                               "--weight requires values, but a sample has only timestamps");
    }
    for (size_t i = 0; i < m->values.n; i++) {
        double x = (double)m->values.v[i] * w;
        m->values.v[i] = x >= 9.2e18    ? INT64_MAX
                         : x <= -9.2e18 ? INT64_MIN
                                        : (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
    }
    return true;
}

static bool weigh_all(const option_list *weights, input *in, size_t n, err *e)
{
    if (!weights->n) return true;
    if (weights->n != n)
        return err_set(e, ERR_USAGE, "--weight has %zu numbers for %zu inputs", weights->n, n);
    for (size_t i = 0; i < n; i++) {
        double w;
        if (!weight_parse(weights->v[i], &w, e)) return false;
        if (w != 1 && !weigh(&in[i].doc.model, w, e)) return err_in(e, "%s", in[i].path);
    }
    return true;
}

bool merge_prepare(cli *c, input *in, size_t n, arena *a, err *e)
{
    const model **m = arena_new(a, const model *, n);
    cumulative found;
    if (!m) return err_memory(e);
    for (size_t i = 0; i < n; i++) m[i] = &in[i].doc.model;
    if (!cumulative_find(m, n, a, &found, e)) return false;
    for (size_t i = 0; i < found.n; i++)
        if (found.v[i].replaced)
            in[found.v[i].model].doc.model.profiles.v[found.v[i].profile].n_samples = 0;
    return weigh_all(&c->o.weights, in, n, e);
}

exit_code cmd_merge(cli *c) { return convert_files(c, true); }
