/* Compares two sides: collects the amounts, tests each frame and the total, adjusts the p-values
 * for the number of tests, and sorts the rows. The statistics are in stat.c, the recordings in
 * recordings.c, moved cost in diff_moved.c. */
#include "query/diff.h"

#include "query/diff_moved.h"
#include "query/internal.h"
#include "query/stat.h"

#include "base/ban.h"
#include <math.h>

enum {
    /* Frames with fewer samples in total cannot pass a test that is adjusted for many others.
     * Omitting them is valid because the tests are conditioned on that sum: the false discovery
     * rate stays the same, and the other tests gain power. */
    TESTED_LEAST = 6,
    TEST_STEPS = 32, /* the approximate cost of a test in steps of a stopper (base/stopper.h) */
};

#define SURE 0.05      /* probability outside of an interval */
#define MISSED 0.2     /* probability that a detectable change is missed */
#define TOTAL_PART 0.5 /* part of the false discovery rate that is reserved for the total */

/* ---- rows ---- */

static void add_recording(const recorded *x, bool after, size_t n, diff_row *rows)
{
    bool saturated = false;
    for (size_t i = 0; i < n; i++) {
        diff_side *s = after ? &rows[i].after : &rows[i].before;
        s->flat = add_clamped(s->flat, x->flat[i], &saturated);
        s->cum = add_clamped(s->cum, x->cum[i], &saturated);
    }
}

static void set_change(const diff *d, diff_row *r)
{
    r->flat_change = diff_after(d, r->after.flat) - diff_before(d, r->before.flat);
    r->cum_change = diff_after(d, r->after.cum) - diff_before(d, r->before.cum);
    r->flat_q = r->cum_q = 1;
}

static bool join(const recordings *r, arena *a, diff *d, err *e)
{
    size_t n = d->frames->v.n, kept = 0;
    diff_row *rows = arena_new(a, diff_row, n + 1);
    if (!rows) return err_memory(e);
    for (size_t i = 0; i < r->n; i++) add_recording(&r->v[i], i >= r->n_before, n, rows);
    for (size_t i = 0; i < n; i++) {
        diff_row x = rows[i];
        if (!x.before.flat && !x.before.cum && !x.after.flat && !x.after.cum) continue;
        x.frame = (uint32_t)i;
        set_change(d, &x);
        rows[kept++] = x;
    }
    d->v = rows, d->n = kept;
    return true;
}

static void add_sums(const recordings *r, diff *d)
{
    bool saturated = false;
    for (size_t i = 0; i < r->n; i++) {
        int64_t *sum = i < r->n_before ? &d->sum_before : &d->sum_after;
        *sum = add_clamped(*sum, r->v[i].sum, &saturated);
    }
    d->total = (diff_row){.frame = NO_FRAME,
                          .before = {d->sum_before, d->sum_before},
                          .after = {d->sum_after, d->sum_after}};
    set_change(d, &d->total);
}

/* ---- testing ---- */

/* The hypothesis that an amount is the same on both sides. */
typedef struct hypothesis {
    diff_row *row;
    bool cum;
} hypothesis;

typedef struct testing {
    hypothesis *v;
    double *p;
    size_t n;
} testing;

static bool same_cum(const diff_row *r)
{
    return r->before.cum == r->before.flat && r->after.cum == r->after.flat;
}

/* Returns whether the amounts of the frame equal the total, which has its own test. */
static bool is_total(const diff *d, const diff_row *r, bool cum)
{
    return (cum ? r->before.cum : r->before.flat) == d->sum_before &&
           (cum ? r->after.cum : r->after.flat) == d->sum_after;
}

static bool worth_testing(const recordings *r, amount_kind k, uint32_t i)
{
    sample_counts c = recordings_counts(r, k, i, i);
    return round(c.before) + round(c.after) >= TESTED_LEAST;
}

static bool test_frames(const recordings *r, diff *d, testing *t, stopper *stop, err *e)
{
    for (size_t i = 0; i < d->n; i++)
        for (int cum = 0; cum < 2; cum++) {
            diff_row *row = &d->v[i];
            amount_kind k = cum ? AMOUNT_CUM : AMOUNT_FLAT;
            if (is_total(d, row, cum) || (cum && same_cum(row))) continue; /* already tested */
            if (!worth_testing(r, k, row->frame)) continue;
            if (!stopper_step(stop, TEST_STEPS * r->n, e)) return false;
            t->v[t->n] = (hypothesis){row, cum};
            t->p[t->n++] = recordings_p(r, k, row->frame, row->frame);
        }
    return true;
}

/* Weights of the tests (Genovese, Roeder, Wasserman 2006).  They add up to the number of tests,
 * which keeps the false discovery rate, and the total keeps its power however many frames there
 * are. */
static void weigh(testing *t)
{
    double n = (double)t->n;
    if (t->n < 2) return;
    t->p[0] = fmin(1, t->p[0] / (n * TOTAL_PART));
    for (size_t i = 1; i < t->n; i++) t->p[i] = fmin(1, t->p[i] / (n * (1 - TOTAL_PART) / (n - 1)));
}

static void keep_q(hypothesis h, double q)
{
    *(h.cum ? &h.row->cum_q : &h.row->flat_q) = q;
    if (!h.cum && same_cum(h.row)) h.row->cum_q = q;
}

static bool test_all(const recordings *r, diff *d, stopper *stop, arena *a, err *e)
{
    size_t most = 2 * d->n + 1;
    testing t = {arena_array(a, most, sizeof *t.v), arena_array(a, most, sizeof *t.p), 0};
    if (!t.v || !t.p) return err_memory(e);
    t.v[t.n] = (hypothesis){&d->total, false};
    t.p[t.n++] = recordings_p(r, AMOUNT_TOTAL, 0, 0);
    if (!test_frames(r, d, &t, stop, e)) return false;
    weigh(&t);
    if (!stat_fdr(t.p, t.n, t.p, a)) return err_memory(e);
    for (size_t i = 0; i < t.n; i++) keep_q(t.v[i], t.p[i]);
    for (size_t i = 0; i < d->n; i++)
        for (int cum = 0; cum < 2; cum++)
            if (is_total(d, &d->v[i], cum)) keep_q((hypothesis){&d->v[i], cum}, d->total.cum_q);
    d->n_tests = t.n;
    return true;
}

/* ---- verdicts ---- */

static diff_verdict verdict(const diff *d, double change, double q)
{
    if (d->untested) return change != 0 ? DIFF_UNTESTED : DIFF_NOISE;
    if (q > d->fdr || change == 0) return DIFF_NOISE;
    return change > 0 ? DIFF_GREW : DIFF_SHRANK;
}

static void judge_row(const diff *d, diff_row *r)
{
    r->flat = verdict(d, r->flat_change, r->flat_q);
    r->cum = verdict(d, r->cum_change, r->cum_q);
}

static bool row_changed(const diff_row *r) { return r->flat != DIFF_NOISE || r->cum != DIFF_NOISE; }

typedef struct order {
    const frame_table *f;
    bool by_cum;
} order;

static int by_change(const void *x, const void *y, void *context)
{
    const diff_row *a = x, *b = y;
    const order *o = context;
    if (row_changed(a) != row_changed(b)) return row_changed(a) ? -1 : 1;
    double flat_a = fabs(a->flat_change), flat_b = fabs(b->flat_change);
    double cum_a = fabs(a->cum_change), cum_b = fabs(b->cum_change);
    if (!o->by_cum && flat_a != flat_b) return flat_a > flat_b ? -1 : 1;
    if (cum_a != cum_b) return cum_a > cum_b ? -1 : 1;
    if (flat_a != flat_b) return flat_a > flat_b ? -1 : 1;
    return frame_cmp(o->f, a->frame, b->frame);
}

static void judge(diff *d, bool by_cum)
{
    judge_row(d, &d->total);
    for (size_t i = 0; i < d->n; i++) {
        judge_row(d, &d->v[i]);
        d->n_changed += row_changed(&d->v[i]);
    }
    order o = {d->frames, by_cum};
    if (d->n) qsort_r(d->v, d->n, sizeof *d->v, by_change, &o);
}

static void count_grown(diff *d)
{
    for (size_t i = 0; i < d->n_changed; i++) {
        const diff_row *r = &d->v[i];
        bool grew = r->flat == DIFF_GREW || r->cum == DIFF_GREW;
        d->n_moved += grew && r->moved;
        d->n_grew += grew && !r->moved;
    }
}

/* ---- uniform or local ---- */

/* Sets *out to whether all frames changed by the factor of the total: no share of self changed. */
static bool is_uniform(const recordings *r, diff *d, arena *a, bool *out, err *e)
{
    recordings shares;
    double *p = arena_array(a, d->n + 1, sizeof *p);
    size_t n = 0;
    if (!p) return err_memory(e);
    if (!recordings_as_shares(r, a, &shares, e)) return false;
    for (size_t i = 0; i < d->n; i++)
        if (worth_testing(r, AMOUNT_FLAT, d->v[i].frame))
            p[n++] = recordings_p(&shares, AMOUNT_FLAT, d->v[i].frame, d->v[i].frame);
    if (!stat_fdr(p, n, p, a)) return err_memory(e);
    *out = true;
    for (size_t i = 0; i < n; i++) *out &= p[i] > d->fdr;
    return true;
}

static void find_most(diff *d)
{
    double sign = d->total.cum_change < 0 && d->total.cum == DIFF_SHRANK ? -1 : 1, most = 0;
    for (size_t i = 0; i < d->n_changed; i++) {
        const diff_row *r = &d->v[i];
        if (r->flat == DIFF_NOISE || r->moved || sign * r->flat_change <= most) continue;
        most = sign * r->flat_change;
        d->most = r->frame;
    }
}

/* ---- the whole comparison ---- */

static bool all_counted(const recordings *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!(r->v[i].size > 0)) return false;
    return true;
}

static const char *why_untested(const recordings *r, const diff *d)
{
    if (!d->sum_before && !d->sum_after) return "both sides are empty";
    if (!all_counted(r))
        return "a side is empty or has negative values, which cannot be counted as samples";
    return NULL;
}

static bool same_units(const recording *v, size_t n, str unit, err *e)
{
    for (size_t i = 0; i < n; i++)
        if (!str_eq(v[i].v->unit, unit))
            return err_set(e, ERR_MISMATCH, "the units differ: \"%.*s\" before, \"%.*s\" after",
                           STR_ARG(v[i].v->unit), STR_ARG(unit));
    return true;
}

static void describe(const recordings *r, const diff_opts *o, diff *d)
{
    d->per_before = r->per_before, d->per_after = r->per_after;
    d->runs_before = r->n_before, d->runs_after = r->n - r->n_before;
    d->fdr = o->fdr > 0 ? o->fdr : DIFF_FDR;
    d->measured = r->measured;
    d->spread = r->spread;
    d->variance = r->variance;
    d->run_error = recordings_run_error(r);
    d->run_spread = recordings_run_spread(r);
    add_sums(r, d);
    d->untested = why_untested(r, d);
    if (d->untested) return;
    d->samples_before = round(r->samples_before);
    d->samples_after = round(r->samples_after);
}

bool diff_of(const recording *before, size_t n_before, const recording *after, size_t n_after,
             const diff_opts *o, arena *a, diff *out, err *e)
{
    const view *first = after[0].v;
    recordings r;
    recordings_opts ro = {.noise = o->noise, .spread = o->spread};
    *out = (diff){.frames = first->frames, .most = NO_FRAME};
    if (!same_units(before, n_before, first->unit, e) ||
        !same_units(after, n_after, first->unit, e) ||
        !recordings_of(before, n_before, after, n_after, &ro, a, &r, e))
        return false;
    describe(&r, o, out);
    if (!join(&r, a, out, e)) return false;
    if (!out->untested && !test_all(&r, out, first->stop, a, e)) return false;
    judge(out, o->by_cum);
    if (!out->untested && !mark_moved(&r, out, first->stop, e)) return false;
    count_grown(out);
    find_most(out);
    return out->untested || out->total.cum == DIFF_NOISE ||
           is_uniform(&r, out, a, &out->uniform, e);
}

/* ---- growth and confidence ---- */

/* Returns the variance of the logarithm of the ratio of two amounts with these numbers of samples.
 * The measured variance is that of the total and includes its sampling noise; a frame has more of
 * it. */
static double log_variance(const diff *d, double n_before, double n_after)
{
    double counts = 1 / n_before + 1 / n_after + d->variance;
    if (!d->measured) return counts;
    double more = counts - 1 / d->samples_before - 1 / d->samples_after;
    return d->run_error * d->run_error + fmax(0, more);
}

/* Degrees of freedom of the measured noise; Welch's test uses about one more. */
static double freedom(const diff *d) { return (double)(d->runs_before + d->runs_after) - 3; }

static double quantile(const diff *d, double p)
{
    return d->measured ? stat_t_quantile(p, freedom(d)) : stat_normal_quantile(p);
}

diff_growth diff_growth_of(const diff *d, double before, double after)
{
    double was = before / d->per_before, is = after / d->per_after;
    diff_growth g = {.v = was > 0 ? is / was - 1 : is > 0 ? INFINITY : 0};
    double n_before = before / (double)d->sum_before * d->samples_before,
           n_after = after / (double)d->sum_after * d->samples_after;
    if (d->untested || !(n_before > 0) || !(n_after > 0)) return g;
    double away = quantile(d, SURE / 2) * sqrt(log_variance(d, n_before, n_after));
    g.low = exp(log1p(g.v) - away) - 1;
    g.high = exp(log1p(g.v) + away) - 1;
    g.known = true;
    return g;
}

double diff_detectable(const diff *d, double share)
{
    double a = d->samples_before * share, b = d->samples_after * share;
    if (!(a > 0) || !(b > 0)) return INFINITY;
    double alpha = d->fdr * TOTAL_PART;
    if (share < 1 && d->n_tests > 1) alpha /= (double)(d->n_tests - 1);
    double z = quantile(d, alpha / 2) + quantile(d, MISSED);
    if (d->measured) z /= 1 - 1 / (4 * freedom(d)); /* few runs underestimate the noise */
    return exp(z * sqrt(log_variance(d, a, b))) - 1;
}
