/* Computes the value of one sample and the recorded time of a view. */
#include "query/samples.h"

#include "query/internal.h"
#include "query/summed.h"
#include "query/unit.h"

#include "base/ban.h"

/* ---- the number of samples ---- */

static str period_unit(const view_part *part)
{
    return dict_str(&part->m->dict, part->p->period_type.unit);
}

static bool period_fits(const view *v, const view_part *part)
{
    return part->p->period > 0 && str_eq(period_unit(part), v->unit);
}

/* Sums of the observations of the profiles of a view, before selection: their sizes depend on
 * the recorder, not on the selected frames. */
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

double view_sample_size(const view *v)
{
    sizes s = {.all_periods = true};
    for (size_t i = 0; i < v->parts.n; i++) add_profile(&s, v, &v->parts.v[i]);
    if (s.negative || !(s.sum > 0)) return 0;
    if (unit_counts(v->unit)) return 1;
    if (s.all_periods && s.periods >= 1) return s.sum / s.periods;
    return s.squares / s.sum;
}

int64_t view_period(const view *v, str *unit)
{
    if (!unit_counts(v->unit) || !v->parts.n) return 0;
    const view_part *first = &v->parts.v[0];
    for (size_t i = 0; i < v->parts.n; i++) {
        const view_part *part = &v->parts.v[i];
        if (part->p->period != first->p->period || !str_eq(period_unit(part), period_unit(first)))
            return 0;
    }
    *unit = period_unit(first);
    return unit_of(*unit).name && first->p->period > 0 ? first->p->period : 0;
}

/* ---- recorded time ---- */

typedef struct stretch {
    uint64_t start, end;
} stretch;

static int by_start(const void *x, const void *y)
{
    const stretch *a = x, *b = y;
    return (a->start > b->start) - (a->start < b->start);
}

static stretch stretch_of(const view_part *part)
{
    stretch s = {part->p->time_unix_nano, 0};
    if (ckd_add(&s.end, s.start, part->p->duration_nano)) s.end = UINT64_MAX;
    if (part->start > s.start) s.start = part->start;
    if (part->end && part->end < s.end) s.end = part->end;
    return s;
}

/* Returns the time that sorted intervals cover. Overlaps of several processes count once. */
static double covered(const stretch *v, size_t n)
{
    double ns = 0;
    uint64_t until = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t from = v[i].start > until ? v[i].start : until;
        if (v[i].end <= from) continue;
        ns += (double)(v[i].end - from);
        until = v[i].end;
    }
    return ns;
}

bool view_seconds(const view *v, double *out, err *e)
{
    stretch *s = arena_new(v->a, stretch, v->parts.n + 1);
    size_t n = 0;
    double undated = 0;
    if (!s) return err_memory(e);
    for (size_t i = 0; i < v->parts.n; i++) {
        const view_part *part = &v->parts.v[i];
        if (part->p->time_unix_nano)
            s[n++] = stretch_of(part);
        else
            undated += (double)part->p->duration_nano;
    }
    qsort(s, n, sizeof *s, by_start);
    *out = (undated + covered(s, n)) * 1e-9;
    return true;
}
