/* Collects the amounts of all frames in all recordings and tests whether two amounts differ. The
 * exact test uses counts of samples; the t-test uses the amounts of the runs. */
#include "query/recordings.h"

#include "query/flat.h"
#include "query/internal.h"
#include "query/samples.h"
#include "query/stat.h"

#include "base/ban.h"
#include <math.h>

/* ---- collecting ---- */

static bool take_amounts(const view *v, arena *a, recorded *out, err *e)
{
    flat f;
    size_t n = v->frames->v.n;
    int64_t *own = arena_new(a, int64_t, n + 1), *cum = arena_new(a, int64_t, n + 1);
    if (!own || !cum) return err_memory(e);
    if (!flat_of(v, &(flat_opts){0}, a, &f, e)) return false;
    for (size_t i = 0; i < f.n; i++) {
        own[f.v[i].frame] = f.v[i].flat;
        cum[f.v[i].frame] = f.v[i].cum;
    }
    out->flat = own, out->cum = cum, out->sum = v->sum;
    return true;
}

static bool take(const recording *r, double noise, arena *a, recorded *out, err *e)
{
    *out = (recorded){.size = view_sample_size(r->v) * noise, .per = r->per};
    return take_amounts(r->v, a, out, e);
}

/* Makes counts of samples at different rates comparable: each is scaled to the samples of the
 * first recording, if all recordings know the amount of a sample. */
static void align_rates(recordings *r, const recording *before, const recording *after)
{
    str unit = {0};
    int64_t first = view_period(before[0].v, &unit);
    for (int pass = 0; pass < 2 && first; pass++)
        for (size_t i = 0; i < r->n; i++) {
            str own = {0};
            const recording *x = i < r->n_before ? &before[i] : &after[i - r->n_before];
            int64_t period = view_period(x->v, &own);
            if (!pass && (!period || !str_eq(unit, own))) return;
            if (pass) r->v[i].per *= (double)first / (double)period;
        }
}

static double measured_with(const recording *v, size_t n)
{
    double samples = 0;
    for (size_t i = 0; i < n; i++) samples += v[i].per_samples;
    return samples > 0 ? 1 / samples : 0;
}

static void add_up(recordings *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const recorded *x = &r->v[i];
        bool after = i >= r->n_before;
        *(after ? &r->per_after : &r->per_before) += x->per;
        if (x->size > 0)
            *(after ? &r->samples_after : &r->samples_before) += (double)x->sum / x->size;
    }
}

bool recordings_of(const recording *before, size_t n_before, const recording *after, size_t n_after,
                   const recordings_opts *o, arena *a, recordings *out, err *e)
{
    size_t n = n_before + n_after;
    double noise = o->noise > 1 ? o->noise : 1;
    *out = (recordings){.v = arena_new(a, recorded, n),
                        .scratch = arena_new(a, double, n),
                        .n_before = n_before,
                        .n = n,
                        .measured = n >= RECORDINGS_MEASURED};
    if (!out->v || !out->scratch) return err_memory(e);
    for (size_t i = 0; i < n; i++)
        if (!take(i < n_before ? &before[i] : &after[i - n_before], noise, a, &out->v[i], e))
            return false;
    align_rates(out, before, after);
    add_up(out);
    out->spread = o->spread >= 0 ? o->spread : out->measured ? 0 : RECORDINGS_SPREAD;
    out->variance = out->spread * out->spread * (1 / (double)n_before + 1 / (double)n_after);
    if (!out->measured)
        out->variance += measured_with(before, n_before) + measured_with(after, n_after);
    return true;
}

/* ---- testing ---- */

/* With fewer samples in total, the distribution is not nearly normal, as the t-test assumes. */
#define COUNTS_FEW 100

static int64_t amount(const recorded *x, amount_kind k, uint32_t i)
{
    switch (k) {
    case AMOUNT_FLAT: return x->flat[i];
    case AMOUNT_CUM: return x->cum[i];
    case AMOUNT_TOTAL: break;
    }
    return x->sum;
}

/* Counts, and the exposures that they should be proportional to. */
typedef struct exposed {
    double n, t;
} exposed;

static void expose(exposed *x, const recorded *r, int64_t value)
{
    if (!(r->size > 0)) return;
    x->n += (double)value / r->size;
    x->t += r->per / r->size;
}

static void counts_of(const recordings *r, amount_kind k, uint32_t before, uint32_t after,
                      exposed out[2])
{
    out[0] = out[1] = (exposed){0};
    for (size_t i = 0; i < r->n; i++) {
        bool is_after = i >= r->n_before;
        expose(&out[is_after], &r->v[i], amount(&r->v[i], k, is_after ? after : before));
    }
}

sample_counts recordings_counts(const recordings *r, amount_kind k, uint32_t before, uint32_t after)
{
    exposed x[2];
    counts_of(r, k, before, after, x);
    return (sample_counts){x[0].n, x[1].n};
}

/* Returns the overdispersion of counts. The factor 1 + v ab / (a + b) increases 1/a + 1/b, the
 * variance of the logarithm of their ratio, by v. a and b are the expected counts when nothing
 * changed. */
static double dispersion(const exposed x[2], double variance)
{
    double n = x[0].n + x[1].n, share = x[1].t / (x[0].t + x[1].t);
    return 1 + variance * n * share * (1 - share);
}

static double counts_p(const recordings *r, const exposed x[2])
{
    if (!(x[0].t > 0) || !(x[1].t > 0)) return 1;
    double d = dispersion(x, r->variance);
    return stat_rate_p(x[0].n / d, x[0].t, x[1].n / d, x[1].t);
}

static const double *amounts(const recordings *r, amount_kind k, uint32_t before, uint32_t after)
{
    for (size_t i = 0; i < r->n; i++)
        r->scratch[i] = (double)amount(&r->v[i], k, i < r->n_before ? before : after) / r->v[i].per;
    return r->scratch;
}

double recordings_p(const recordings *r, amount_kind k, uint32_t before, uint32_t after)
{
    exposed x[2];
    counts_of(r, k, before, after, x);
    double p = counts_p(r, x);
    if (!r->measured) return p;
    const double *v = amounts(r, k, before, after);
    bool few = x[0].n + x[1].n < COUNTS_FEW || r->spread > 0;
    return fmax(few ? p : 0, stat_mean_p(v, r->n_before, v + r->n_before, r->n - r->n_before));
}

bool recordings_as_shares(const recordings *r, arena *a, recordings *out, err *e)
{
    *out = *r;
    out->v = arena_new(a, recorded, r->n);
    if (!out->v) return err_memory(e);
    for (size_t i = 0; i < r->n; i++) {
        out->v[i] = r->v[i];
        out->v[i].per = r->v[i].sum > 0 ? (double)r->v[i].sum : 1;
    }
    return true;
}

/* ---- measured noise ---- */

double recordings_run_error(const recordings *r)
{
    if (!r->measured) return 0;
    const double *v = amounts(r, AMOUNT_TOTAL, 0, 0);
    stat_sample a = stat_sample_of(v, r->n_before),
                b = stat_sample_of(v + r->n_before, r->n - r->n_before);
    if (!(a.mean > 0) || !(b.mean > 0)) return 0;
    double variance = (a.squares + b.squares) / (a.n + b.n - 2);
    return sqrt(variance / (a.n * a.mean * a.mean) + variance / (b.n * b.mean * b.mean));
}

double recordings_run_spread(const recordings *r)
{
    if (!r->measured) return 0;
    const double *v = amounts(r, AMOUNT_TOTAL, 0, 0);
    stat_sample a = stat_sample_of(v, r->n_before),
                b = stat_sample_of(v + r->n_before, r->n - r->n_before);
    if (!(a.mean > 0) || !(b.mean > 0)) return 0;
    return sqrt((a.squares / (a.mean * a.mean) + b.squares / (b.mean * b.mean)) / (a.n + b.n - 2));
}
