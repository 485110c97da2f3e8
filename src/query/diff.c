#include "query/diff.h"

#include "query/summed.h"

#include "base/ban.h"
#include <math.h>

enum {
    /* Frames with fewer samples on both sides together cannot pass any test that many others share.
     * Leaving them out by their sum, which the tests take as given, keeps the rate and gains power. */
    TESTED_LEAST = 6,
    TEST_STEPS =
        32, /* a test takes as long as so many steps of other work (base/stopper.h), about */
};

static bool out_of_memory(err *e) { return err_set(e, ERR_LIMIT, "the memory budget is spent"); }

/* ---- how many samples ---- */

static bool unit_counts(str unit)
{
    return str_eq(unit, STR("count")) || str_eq(unit, STR("1")) || str_eq(unit, STR("samples")) ||
           str_eq(unit, STR("{samples}")) || str_eq(unit, STR("{sample}"));
}

static bool period_fits(const view *v, const view_part *part)
{
    const dict *d = &part->m->dict;
    return part->p->period > 0 && str_eq(dict_str(d, part->p->period_type.unit), v->unit);
}

/* Sums of the observations of a view's profiles, before selection: their sizes are a property of the
 * recorder, not of the frames that were asked for. */
typedef struct sizes {
    double sum, squares, periods;
    bool negative, all_periods;
} sizes;

static void add_profile(sizes *s, const view *v, const view_part *part)
{
    bool fits = period_fits(v, part);
    summed of = profile_summed(part->m, part->p);
    double size = 0, squares = 0;
    for (size_t i = 0; i < part->p->n_samples; i++) {
        sample x = sample_at(part->m, part->p, i);
        for (uint32_t k = 0; k < sample_observations(&x); k++) {
            double w = x.n_values ? (double)x.values[k] : 1;
            if (w < 0) s->negative = true;
            w *= part->weight;
            size += w;
            squares += w * w;
        }
    }
    s->sum += size;
    s->squares += of.is ? of.squares * part->weight * part->weight : squares;
    if (fits)
        s->periods += size / ((double)part->p->period * part->weight);
    else
        s->all_periods = false;
}

double diff_sample_size(const view *v)
{
    sizes s = {.all_periods = true};
    for (size_t i = 0; i < v->parts.n; i++) add_profile(&s, v, &v->parts.v[i]);
    if (s.negative || !(s.sum > 0)) return 0;
    if (unit_counts(v->unit)) return 1;
    if (s.all_periods && s.periods >= 1) return s.sum / s.periods;
    return s.squares / s.sum;
}

static double seconds_of(const view *v)
{
    double s = 0;
    for (size_t i = 0; i < v->parts.n; i++) s += (double)v->parts.v[i].p->duration_nano * 1e-9;
    return s;
}

/* ---- joining the two tables ---- */

static bool add_side(const view *v, arena *a, diff_row *rows, bool after, err *e)
{
    flat f;
    if (!flat_of(v, &(flat_opts){0}, a, &f, e)) return false;
    for (size_t i = 0; i < f.n; i++) {
        diff_row *r = &rows[f.v[i].frame];
        *(after ? &r->after : &r->before) = (diff_side){f.v[i].flat, f.v[i].cum};
    }
    return true;
}

static bool join(const view *before, const view *after, arena *a, diff *d, err *e)
{
    size_t n = after->frames->v.n;
    diff_row *rows = arena_new(a, diff_row, n);
    if (!rows) return out_of_memory(e);
    if (!add_side(before, a, rows, false, e) || !add_side(after, a, rows, true, e)) return false;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        diff_row r = rows[i];
        if (!r.before.flat && !r.before.cum && !r.after.flat && !r.after.cum) continue;
        r.frame = (uint32_t)i;
        r.flat_change = (double)r.after.flat - (double)r.before.flat * d->scale;
        r.cum_change = (double)r.after.cum - (double)r.before.cum * d->scale;
        r.flat_q = r.cum_q = 1;
        rows[kept++] = r;
    }
    d->v = rows, d->n = kept;
    return true;
}

/* ---- testing ---- */

/* A hypothesis: this frame's flat or cumulative share is the same on both sides. */
typedef struct question {
    size_t row;
    bool cum;
} question;

typedef struct counter {
    double size_before, size_after; /* of a sample */
    uint64_t n_before, n_after;
    bool absolute;
    double t_before, t_after;
} counter;

static uint64_t count_of(int64_t value, double size)
{
    return value > 0 ? (uint64_t)llround((double)value / size) : 0;
}

static double p_of(const counter *c, uint64_t before, uint64_t after)
{
    if (c->absolute) return stat_rate_p(before, c->t_before, after, c->t_after);
    return stat_share_p((stat_counts){before, c->n_before, after, c->n_after});
}

static bool test_all(diff *d, const counter *c, stopper *stop, arena *a, err *e)
{
    question *q = arena_array(a, 2 * d->n, sizeof *q);
    double *p = arena_array(a, 2 * d->n, sizeof *p);
    if (!q || !p) return out_of_memory(e);
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        const diff_row *r = &d->v[i];
        for (int cum = 0; cum < 2; cum++) {
            diff_side b = r->before, x = r->after;
            if (cum && b.cum == b.flat && x.cum == x.flat) continue; /* asked already */
            uint64_t before = count_of(cum ? b.cum : b.flat, c->size_before),
                     after = count_of(cum ? x.cum : x.flat, c->size_after);
            if (before + after < TESTED_LEAST) continue;
            if (!stopper_step(stop, TEST_STEPS, e)) return false;
            q[n] = (question){i, cum};
            p[n++] = p_of(c, before, after);
        }
    }
    if (!stat_fdr(p, n, p, a)) return out_of_memory(e);
    for (size_t i = 0; i < n; i++) {
        diff_row *r = &d->v[q[i].row];
        *(q[i].cum ? &r->cum_q : &r->flat_q) = p[i];
        if (!q[i].cum && r->before.cum == r->before.flat && r->after.cum == r->after.flat)
            r->cum_q = p[i];
    }
    d->n_tests = n;
    return true;
}

/* ---- verdicts ---- */

static diff_verdict verdict(const diff *d, double change, double q)
{
    if (d->untested) return change != 0 ? DIFF_UNTESTED : DIFF_NOISE;
    if (q > d->fdr) return DIFF_NOISE;
    return change > 0 ? DIFF_GREW : DIFF_SHRANK;
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
    for (size_t i = 0; i < d->n; i++) {
        diff_row *r = &d->v[i];
        r->flat = verdict(d, r->flat_change, r->flat_q);
        r->cum = verdict(d, r->cum_change, r->cum_q);
        d->n_changed += row_changed(r);
        d->n_grew += r->flat == DIFF_GREW || r->cum == DIFF_GREW;
    }
    order o = {d->frames, by_cum};
    if (d->n) qsort_r(d->v, d->n, sizeof *d->v, by_change, &o);
}

static const char *why_untested(const counter *c, const view *before, const view *after)
{
    if (!before->sum && !after->sum) return "both sides are empty";
    if (!(c->size_before > 0) || !(c->size_after > 0))
        return "a side is empty or has negative values: these are no samples";
    if (c->absolute && !(c->t_before > 0 && c->t_after > 0))
        return "a side does not say how long it was recorded, so rates cannot be compared";
    return NULL;
}

bool diff_of(const view *before, const view *after, const diff_opts *o, arena *a, diff *out, err *e)
{
    if (!str_eq(before->unit, after->unit))
        return err_set(e, ERR_MISMATCH, "the units differ: \"%.*s\" before, \"%.*s\" after",
                       STR_ARG(before->unit), STR_ARG(after->unit));
    double noise = o->noise > 1 ? o->noise : 1;
    counter c = {
        .size_before = diff_sample_size(before) * noise,
        .size_after = diff_sample_size(after) * noise,
        .absolute = o->absolute,
        .t_before = seconds_of(before),
        .t_after = seconds_of(after),
    };
    *out = (diff){
        .frames = after->frames,
        .sum_before = before->sum,
        .sum_after = after->sum,
        .scale = 1,
        .t_before = c.t_before,
        .t_after = c.t_after,
        .fdr = o->fdr > 0 ? o->fdr : DIFF_FDR,
        .untested = why_untested(&c, before, after),
    };
    if (o->absolute && c.t_before > 0 && c.t_after > 0) out->scale = c.t_after / c.t_before;
    if (!o->absolute && before->sum > 0 && after->sum > 0)
        out->scale = (double)after->sum / (double)before->sum;
    if (!join(before, after, a, out, e)) return false;
    if (!out->untested) {
        c.n_before = count_of(before->sum, c.size_before);
        c.n_after = count_of(after->sum, c.size_after);
        out->samples_before = (double)c.n_before, out->samples_after = (double)c.n_after;
        if (!test_all(out, &c, after->stop, a, e)) return false;
    }
    judge(out, o->by_cum);
    return true;
}

double diff_detectable(const diff *d, double share)
{
    return stat_detectable(share, (uint64_t)d->samples_before, (uint64_t)d->samples_after, d->fdr);
}
