/* Computes sums over time, and the time range of a view. Without timestamps, a profile is a
 * bucket. */
#include "query/timeline.h"

#include "query/cumulative.h"
#include "query/internal.h"
#include "query/spread.h"

#include "base/ban.h"

time_range view_time_range(const view *v)
{
    time_range t = {0};
    uint64_t first = UINT64_MAX, last = 0, covered = 0, from, to;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        extent length = extent_of(p->m, p->p);
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            sample s = sample_at(p->m, p->p, v->rows.v[i].sample);
            t.n_untimed += !s.n_times;
            for (uint32_t o = 0; o < s.n_times; o++) {
                if (!view_has_time(p, s.times[o])) continue;
                t.n_timed++;
                if (s.times[o] < first) first = s.times[o];
                if (s.times[o] > last) last = s.times[o];
                if (length.kind != EXTENT_AFTER) continue;
                extent_at(&length, &s, o, &from, &to);
                if (p->end && to > p->end) to = p->end;
                if (to > covered) covered = to;
            }
        }
    }
    if (t.n_timed) t.start = first, t.end = last < UINT64_MAX ? last + 1 : last;
    t.covered = covered > t.end ? covered : t.end;
    return t;
}

/* Returns the smallest 1, 2 or 5 times a power of ten that is at least x. */
static uint64_t round_step(uint64_t x)
{
    uint64_t ten = 1;
    while (ten < UINT64_MAX / 10 && ten * 10 <= x) ten *= 10;
    static const unsigned factor[] = {1, 2, 5};
    for (size_t i = 0; i < ARRAY_LEN(factor); i++)
        if (ten <= UINT64_MAX / factor[i] && ten * factor[i] >= x) return ten * factor[i];
    return ten <= UINT64_MAX / 10 ? ten * 10 : UINT64_MAX;
}

static bool make_buckets(series *out, size_t n, arena *a, err *e)
{
    out->n = n;
    out->time = arena_new(a, uint64_t, n + 1);
    out->sum = arena_new(a, int64_t, n + 1);
    out->count = arena_new(a, uint64_t, n + 1);
    return (out->time && out->sum && out->count) || err_memory(e);
}

static void fill(const view *v, const spread_steps *steps, int64_t *whole, series *out)
{
    bool saturated = false;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        extent length = extent_of(p->m, p->p);
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            sample s = sample_at(p->m, p->p, v->rows.v[i].sample);
            if (!s.n_times) {
                out->n_untimed++;
                out->untimed_sum = add_clamped(out->untimed_sum, v->rows.v[i].value, &saturated);
            }
            for (uint32_t o = 0; o < s.n_times; o++) {
                uint64_t from, to;
                if (!view_has_time(p, s.times[o])) continue;
                size_t b = (size_t)((s.times[o] - steps->start) / out->step);
                int64_t value = view_observation(p, &s, o);
                extent_at(&length, &s, o, &from, &to);
                out->count[b]++;
                if (length.kind == EXTENT_AFTER && from < to)
                    spread_add(steps, out->sum, whole, from, to, value);
                else
                    out->sum[b] = add_clamped(out->sum[b], value, &saturated);
            }
        }
    }
    spread_finish(out->sum, whole, out->n);
}

/* ---- profiles instead of timestamps ---- */

typedef struct bucket {
    uint64_t time;
    int64_t sum;
    uint64_t count;
    const view_part *part;
} bucket;

static int bucket_order(const void *a, const void *b)
{
    const bucket *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Returns the end of a cumulative profile, when it was read, and the start of other profiles. */
static uint64_t time_of(const view_part *p)
{
    uint64_t t = p->p->time_unix_nano;
    if (profile_is_cumulative(p->m, p->p) && ckd_add(&t, t, p->p->duration_nano)) t = UINT64_MAX;
    return t;
}

static int64_t total_of(const view_part *p)
{
    int64_t total = 0;
    for (size_t i = 0; i < p->p->n_samples; i++) {
        sample s = sample_at(p->m, p->p, i);
        int64_t v = sample_total(&s, NULL);
        total = add_saturating(total, v < 0 && v > INT64_MIN ? -v : v, NULL);
    }
    return total;
}

static bool by_profile(const view *v, arena *a, series *out, err *e)
{
    bool saturated = false;
    bucket *all = arena_new(a, bucket, v->parts.n + 1);
    if (!all) return err_memory(e);
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        all[k] = (bucket){.time = time_of(p), .count = p->n_rows, .part = p};
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++)
            all[k].sum = add_clamped(all[k].sum, v->rows.v[i].value, &saturated);
    }
    qsort(all, v->parts.n, sizeof *all, bucket_order);
    if (!make_buckets(out, v->parts.n, a, e)) return false;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = all[k].part, *q = k ? all[k - 1].part : NULL;
        bool follows = q && profile_is_cumulative(p->m, p->p) &&
                       profile_is_cumulative(q->m, q->p) &&
                       p->p->time_unix_nano == q->p->time_unix_nano;
        out->time[k] = all[k].time;
        out->sum[k] = follows ? add_clamped(all[k].sum, -all[k - 1].sum, &saturated) : all[k].sum;
        out->count[k] = all[k].count;
        if (!follows) continue;
        out->replaced_sum = add_clamped(out->replaced_sum, all[k - 1].sum, &saturated);
        out->replaced_total = add_clamped(out->replaced_total, total_of(q), &saturated);
    }
    return true;
}

bool series_of(const view *v, uint64_t step, size_t want, arena *a, series *out, err *e)
{
    time_range t = view_time_range(v);
    *out = (series){.step = step};
    if (!t.n_timed) {
        out->step = 0;
        return by_profile(v, a, out, e);
    }
    spread_steps steps = {.end = t.covered};
    uint64_t length = steps.end - t.start;
    if (!want) want = 60;
    if (!step) step = out->step = round_step(length / want + (length % want != 0));
    uint64_t start = t.start - t.start % step, n = (steps.end - 1 - start) / step + 1;
    if (n > SERIES_MAX)
        return err_set(e, ERR_USAGE, "the step yields %llu buckets; the maximum is %d",
                       (unsigned long long)n, SERIES_MAX);
    int64_t *whole = arena_new(a, int64_t, n + 1);
    if (!whole) return err_memory(e);
    if (!make_buckets(out, (size_t)n, a, e)) return false;
    for (size_t i = 0; i < n; i++) out->time[i] = start + i * step;
    steps.start = start, steps.step = step;
    fill(v, &steps, whole, out);
    return true;
}
