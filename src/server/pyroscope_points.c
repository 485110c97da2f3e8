/* SelectSeries.  The store counts by at most two labels; for more, each combination of values of the
 * others is a read of its own. */
#include "server/pyroscope_observe.h"

#include "server/pyroscope_methods.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <math.h>
#include <stdlib.h>

enum { SPLITS = 2, BY_MAX = 8, COMBINATIONS_MAX = 1000 };

bool pyro_steps_of(int64_t start, int64_t end, double step_s, pyro_steps *out, err *e)
{
    const double ms = step_s * 1000;
    if (!(ms >= 1) || ms > 1e15) return err_set(e, ERR_USAGE, "step must be at least 1 ms");
    out->first = (uint64_t)start * NS_PER_MS;
    out->step = (uint64_t)ms * NS_PER_MS;
    uint64_t n = ((uint64_t)end - (uint64_t)start) / (uint64_t)ms + 1;
    if (n > PYRO_POINTS_MAX)
        return err_set(e, ERR_USAGE, "step is too short: the answer would have more than %d points",
                       PYRO_POINTS_MAX);
    if (out->first < out->step) out->first += out->step, n--; /* the first step began before 1970 */
    out->n = (size_t)n;
    return true;
}

/* ---- labels of a line ---- */

typedef struct grouping {
    pyro_selection *s;
    const pyro_steps *t;
    const pyro_texts *by; /* sorted, distinct; as written */
    str key[BY_MAX];      /* the stored key; empty: all series of the read have one value */
    str value[BY_MAX];    /* of the current line */
    pyro_lines *out;
} grouping;

static bool labels_of(grouping *g, pyro_labels *out, err *e)
{
    pyro_labels_out b = {0};
    bool ok = true;
    for (size_t i = 0; i < g->by->n; i++) {
        str v = g->value[i];
        if (g->key[i].n && pyro_key_is_service(g->by->v[i]))
            ok = ok && pyro_service_name(g->s->k, g->key[i], v, &v, e);
        if (v.n) pyro_labels_put(&b, g->by->v[i], v);
    }
    return pyro_labels_end(&b, g->s->k, out, e) && ok;
}

/* ---- reading ---- */

static bool push_line(grouping *g, const store_row *r, int64_t scale, err *e)
{
    query *k = g->s->k;
    pyro_labels labels;
    bool found = false;
    for (size_t i = 0; !found && i < g->t->n; i++) found = r->count[i] || r->sum[i];
    if (!found) return true;
    if (!labels_of(g, &labels, e)) return false;
    pyro_line *x = vec_push(k->a, g->out);
    double *sum = x ? arena_new(k->a, double, g->t->n) : NULL;
    if (!sum) return err_memory(e);
    for (size_t i = 0; i < g->t->n; i++) sum[i] = (double)r->sum[i] * (double)scale;
    *x = (pyro_line){.labels = labels, .sum = sum, .count = r->count};
    return true;
}

/* Reads one selector, split by the stored labels split[0 .. n). */
static bool count(grouping *g, const pyro_read *r, const store_selector *q, const size_t *split,
                  size_t n, err *e)
{
    query *k = g->s->k;
    store_buckets b = {0};
    store_read_result scanned;
    store_budget limits = query_budget(k, 2);
    store_selector own = *q;
    store_counts_opts o = {.step = g->t->step};
    if (n > 0) o.by = g->key[split[0]];
    if (n > 1) o.split = g->key[split[1]];
    own.start = g->t->first - g->t->step + 1; /* steps include their right edge */
    own.end = g->t->first + (g->t->n - 1) * g->t->step + 1;
    if (!store_counts(k->store, &own, &limits, &o, k->a, &b, &scanned, e)) return false;
    query_scanned(k, &scanned);
    for (size_t i = 0; i < b.rows.n; i++) {
        const store_row *x = &b.rows.v[i];
        if (n > 0) g->value[split[0]] = x->label;
        if (n > 1) g->value[split[1]] = x->split;
        if (!push_line(g, x, r->scale, e)) return false;
    }
    return true;
}

/* Fixes the values of the labels split[at ..) beyond the first two, one combination after another,
 * and reads each. */
static bool combine(grouping *g, const pyro_read *r, const store_selector *q, const size_t *split,
                    size_t n, size_t at, size_t *left, err *e)
{
    query *k = g->s->k;
    store_label_list l = {0};
    store_read_result scanned;
    store_budget b = query_budget(k, 4);
    if (at >= n) {
        if (!(*left)--)
            return err_set(e, ERR_USAGE, "group_by has more than %d combinations of values",
                           COMBINATIONS_MAX);
        return count(g, r, q, split, n < SPLITS ? n : SPLITS, e);
    }
    str key = g->key[split[at]];
    if (!store_list_labels(k->store, q, &b, key, k->a, &l, &scanned, e)) return false;
    query_spent(k, &scanned);
    store_matcher *own = arena_new(k->a, store_matcher, q->n_matchers + 1);
    if (!own) return err_memory(e);
    if (q->n_matchers) memcpy(own, q->matchers, q->n_matchers * sizeof *own);
    store_selector part = *q;
    part.matchers = own;
    part.n_matchers++;
    bool empty = false;
    for (size_t i = 0; i <= l.n; i++) { /* the last one: series without the label */
        str value = i < l.n ? l.v[i].text : STR("");
        if (i == l.n && empty) break;
        empty |= !value.n;
        own[q->n_matchers] = (store_matcher){key, STORE_IS, value};
        g->value[split[at]] = value;
        if (!combine(g, r, &part, split, n, at + 1, left, e)) return false;
    }
    return true;
}

static bool read_lines(grouping *g, const pyro_read *r, err *e)
{
    size_t split[BY_MAX], n = 0, left = COMBINATIONS_MAX;
    pyro_series_row one = {.s = r->first, .type = g->s->type};
    for (size_t i = 0; i < g->by->n; i++) {
        if (pyro_key_is_service(g->by->v[i])) g->key[i] = r->service_key;
        if (g->key[i].n)
            split[n++] = i;
        else if (!pyro_series_label(g->s, &one, g->by->v[i], &g->value[i], e))
            return false;
    }
    return combine(g, r, &r->q, split, n, SPLITS, &left, e);
}

/* ---- lines ---- */

static int by_labels(const void *a, const void *b)
{
    return str_cmp(((const pyro_line *)a)->labels.key, ((const pyro_line *)b)->labels.key);
}

/* Sorts the lines, adds lines with equal labels and computes totals. */
static void join(pyro_lines *l, size_t steps)
{
    size_t n = 0;
    pyro_lines_sort(l);
    for (size_t i = 0; i < l->n; i++) {
        if (!n || !str_eq(l->v[n - 1].labels.key, l->v[i].labels.key)) {
            l->v[n++] = l->v[i];
            continue;
        }
        for (size_t j = 0; j < steps; j++) {
            l->v[n - 1].sum[j] += l->v[i].sum[j];
            l->v[n - 1].count[j] += l->v[i].count[j];
        }
    }
    l->n = n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < steps; j++) l->v[i].total += l->v[i].sum[j];
}

void pyro_lines_sort(pyro_lines *l)
{
    if (l->n) qsort(l->v, l->n, sizeof *l->v, by_labels);
}

pyro_line *pyro_line_of(const pyro_lines *l, const pyro_labels *labels)
{
    const pyro_line key = {.labels = *labels};
    return l->n ? bsearch(&key, l->v, l->n, sizeof *l->v, by_labels) : NULL;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

bool pyro_sort_keys(query *k, const pyro_texts *by, pyro_texts *out, err *e)
{
    out->v = arena_new(k->a, str, by->n + 1);
    if (!out->v) return err_memory(e);
    if (by->n) memcpy(out->v, by->v, by->n * sizeof *by->v);
    if (by->n) qsort(out->v, by->n, sizeof *out->v, by_text);
    for (size_t i = 0; i < by->n; i++)
        if (!out->n || !str_eq(out->v[out->n - 1], out->v[i])) out->v[out->n++] = out->v[i];
    return out->n <= BY_MAX || err_set(e, ERR_USAGE, "group_by has more than %d labels", BY_MAX);
}

bool pyro_lines_of(pyro_selection *s, const pyro_steps *t, const pyro_texts *by, pyro_lines *out,
                   err *e)
{
    pyro_texts sorted = {0};
    grouping g = {.s = s, .t = t, .by = &sorted, .out = out};
    if (!t->n) return true;
    if (!pyro_sort_keys(s->k, by, &sorted, e)) return false;
    for (size_t i = 0; i < sorted.n; i++)
        if (!pyro_key_is_private(sorted.v[i]) && !pyro_key(s, sorted.v[i], &g.key[i], e))
            return false;
    for (size_t i = 0; i < s->reads.n; i++)
        if (!read_lines(&g, &s->reads.v[i], e) || !stopper_now(s->k->stop, e)) return false;
    join(out, t->n);
    return true;
}

/* ---- SelectSeries ---- */

static int by_total(const void *a, const void *b)
{
    const pyro_line *x = a, *y = b;
    return (x->total < y->total) - (x->total > y->total);
}

/* Keeps the lines with the largest sums, in their order. */
static void limit_lines(pyro_lines *l, const pyro_request *r)
{
    if (!r->has_limit || r->limit <= 0 || (uint64_t)r->limit >= l->n) return;
    qsort(l->v, l->n, sizeof *l->v, by_total);
    l->n = (size_t)r->limit;
    qsort(l->v, l->n, sizeof *l->v, by_labels);
}

static bool add_exemplars(pyro_selection *s, const pyro_steps *t, const pyro_request *r,
                          pyro_lines *l, err *e)
{
    if (r->exemplars < PYRO_EXEMPLARS_INDIVIDUAL) return true;
    return pyro_exemplars_of(s, t, &r->group_by, &r->call_site, r->exemplars == PYRO_EXEMPLARS_SPAN,
                             l, e);
}

static bool put_line(query *k, const pyro_line *x, const pyro_steps *t, err *e)
{
    buf b = {0}, point = {0};
    buf_str(&b, x->labels.pairs);
    for (size_t i = 0; i < t->n; i++) {
        uint64_t bits;
        if (!x->count[i] && x->sum[i] == 0) continue; /* a wait has a sum in all steps it covers */
        memcpy(&bits, &x->sum[i], sizeof bits);
        buf_reset(&point);
        pb_put_fixed64(&point, 1, bits);
        const uint64_t at_ms = (t->first + i * t->step) / NS_PER_MS;
        pb_put_uint(&point, 2, at_ms);
        if (x->top && x->top[i])
            pyro_put_exemplar(&point, 4, x->top[i], x->top[i]->time / NS_PER_MS, &x->labels);
        pb_put_bytes(&b, 2, buf_view(&point));
    }
    pb_put_bytes(&k->body, 1, buf_view(&b));
    bool ok = !b.failed && !point.failed;
    buf_free(&b);
    buf_free(&point);
    return ok || err_memory(e);
}

bool pyro_select_points(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    pyro_selection s = {0};
    pyro_steps t;
    pyro_lines lines = {0};
    pyro_texts selector = {.v = (str[]){r->selector}, .n = 1};
    if (!r->profile_type.n) return err_set(e, ERR_USAGE, "missing profile_typeID");
    if (r->aggregation > PYRO_AVERAGE) return err_set(e, ERR_USAGE, "unknown aggregation");
    int64_t before = r->step > 0 && r->step < 1e9 ? (int64_t)ceil(r->step * 1000) : 0;
    if (!pyro_check_range(r->start, r->end, e) || !pyro_steps_of(r->start, r->end, r->step, &t, e))
        return false;
    bool ok = pyro_select(k, &selector, r->profile_type, r->start > before ? r->start - before : 1,
                          r->end + 1, &s, e) &&
              (r->call_site.n ? pyro_lines_at(&s, &t, &r->group_by, &r->call_site, &lines, e)
                              : pyro_lines_of(&s, &t, &r->group_by, &lines, e)) &&
              (r->aggregation == PYRO_SUM || pyro_average(&s, &t, &r->group_by, &lines, e));
    limit_lines(&lines, r);
    ok = ok && add_exemplars(&s, &t, r, &lines, e);
    for (size_t i = 0; ok && i < lines.n; i++) ok = put_line(k, &lines.v[i], &t, e);
    pyro_selection_free(&s);
    return ok;
}
