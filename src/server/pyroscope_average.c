/* Averages of SelectSeries: the sum of a step divided by the number of its profiles.  A profile that
 * covers several steps counts in each by its share of time, so that a quotient is the amount of a
 * whole profile. */
#include "server/pyroscope_points.h"

#include "base/ban.h"

enum { PROFILES_MAX = 200000 };

typedef struct averaging {
    pyro_selection *s;
    const pyro_steps *t;
    const pyro_texts *by;
    pyro_lines *l;
    double *own; /* profiles of each line, by step */
    double *all; /* profiles of all lines, by step */
} averaging;

static bool labels_of(averaging *x, const store_series *series, pyro_labels *out, err *e)
{
    pyro_labels_out b = {0};
    const pyro_series_row row = {.s = series, .type = x->s->type};
    bool ok = true;
    for (size_t i = 0; ok && i < x->by->n; i++) {
        str value = {0};
        ok = pyro_series_label(x->s, &row, x->by->v[i], &value, e);
        if (ok && value.n) pyro_labels_put(&b, x->by->v[i], value);
    }
    return pyro_labels_end(&b, x->s->k, out, e) && ok;
}

/* Counts a profile; `of` is its line, or NULL. */
static void count_profile(averaging *x, const store_profile *p, const pyro_line *of)
{
    const uint64_t before = x->t->first - x->t->step, step = x->t->step,
                   end = before + x->t->n * step; /* the first step begins after `before` */
    uint64_t duration = p->duration ? p->duration : 1;
    for (uint64_t at = p->time > before ? p->time : before + 1, next;
         at <= end && at - p->time < duration; at = next) {
        size_t i = (size_t)((at - before - 1) / step);
        next = before + (i + 1) * step + 1;
        uint64_t rest = duration - (at - p->time), in = next - at < rest ? next - at : rest;
        double share = (double)in / (double)duration;
        x->all[i] += share;
        if (of) x->own[(size_t)(of - x->l->v) * x->t->n + i] += share;
    }
}

/* Counts the profiles of one read. */
static bool count(averaging *x, const pyro_read *r, err *e)
{
    query *k = x->s->k;
    store_profile_list list = {0};
    store_series_list series = {0};
    store_read_result scanned;
    store_budget b = query_budget(k, 4);
    if (!store_list_profiles(k->store, &r->q, &b, PROFILES_MAX, k->a, &list, &series, &scanned, e))
        return false;
    query_spent(k, &scanned);
    if (list.n == PROFILES_MAX)
        query_cut(k, "averages cover the newest %d profiles only", PROFILES_MAX);
    const pyro_line **lines = arena_new(k->a, const pyro_line *, series.n + 1);
    if (!lines) return err_memory(e);
    for (size_t i = 0; i < series.n; i++) {
        pyro_labels labels;
        if (!labels_of(x, &series.v[i], &labels, e)) return false;
        lines[i] = pyro_line_of(x->l, &labels);
    }
    for (size_t i = 0; i < list.n; i++) count_profile(x, &list.v[i], lines[list.v[i].series]);
    return true;
}

bool pyro_average(pyro_selection *s, const pyro_steps *t, const pyro_texts *by, pyro_lines *l,
                  err *e)
{
    pyro_texts sorted = *by;
    averaging x = {.s = s, .t = t, .by = &sorted, .l = l};
    x.own = arena_new(s->k->a, double, t->n * l->n + 1);
    x.all = arena_new(s->k->a, double, t->n + 1);
    if (!x.own || !x.all) return err_memory(e);
    if (!pyro_sort_keys(s->k, by, &sorted, e)) return false;
    for (size_t i = 0; i < s->reads.n; i++)
        if (!count(&x, &s->reads.v[i], e)) return false;
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < t->n; j++) {
            /* labels of samples are not labels of profiles: then all profiles of the step count */
            double own = x.own[i * t->n + j], n = own > 0 ? own : x.all[j];
            if (n > 0) l->v[i].sum[j] /= n;
        }
    return true;
}
