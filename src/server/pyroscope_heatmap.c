/* SelectHeatmap: profiles or spans by their amount, in columns of time. */
#include "server/pyroscope_observe.h"

#include "server/pyroscope_methods.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <math.h>
#include <stdlib.h>

enum { ROWS = 20, EXEMPLARS = 3, HEATMAP_INDIVIDUAL = 1, HEATMAP_SPAN = 2 };

typedef struct heat {
    query *k;
    pyro_steps t;
    const pyro_items *items;
    const pyro_groups *groups;
    double low, height; /* of the rows */
    bool exemplars;
} heat;

static size_t step_of(const heat *h, const pyro_item *x)
{
    return (size_t)((x->time - (h->t.first - h->t.step) - 1) / h->t.step);
}

static size_t row_of(const heat *h, const pyro_item *x)
{
    double at = h->height > 0 ? ((double)x->value - h->low) / h->height : 0;
    return at >= ROWS ? ROWS - 1 : (size_t)at;
}

static void take_rows(heat *h)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < h->items->v.n; i++) {
        int64_t v = h->items->v.v[i].value;
        if (v < low) low = v;
        if (v > high) high = v;
    }
    h->low = (double)low;
    h->height = ((double)high - (double)low) / ROWS;
}

/* Sorts by group, then by time, then the largest first. */
static int by_place(const void *a, const void *b)
{
    const pyro_item *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->value < y->value) - (x->value > y->value);
}

static void put_packed(buf *b, uint32_t number, const buf *values)
{
    pb_put_bytes(b, number, buf_view(values));
    b->failed |= values->failed;
}

/* Writes the items v[0 .. n) of one column. */
static void put_slot(const heat *h, const pyro_item *v, size_t n, buf *out)
{
    buf b = {0}, low = {0}, counts = {0};
    uint32_t in[ROWS] = {0};
    const pyro_item *top[EXEMPLARS] = {0};
    uint64_t at_ms = (h->t.first + step_of(h, v) * h->t.step) / NS_PER_MS;
    for (size_t i = 0; i < n; i++) {
        const pyro_item *x = &v[i];
        in[row_of(h, x)]++;
        for (size_t j = 0; j < EXEMPLARS && x; j++)
            if (!top[j] || x->value > top[j]->value) {
                const pyro_item *next = top[j];
                top[j] = x, x = next;
            }
    }
    pb_put_uint(&b, 1, at_ms);
    for (size_t i = 0; i < ROWS; i++) {
        double y = h->low + (double)i * h->height;
        if (!in[i]) continue;
        buf_put(&low, &y, sizeof y);
        pb_put_varint(&counts, in[i]);
    }
    put_packed(&b, 2, &low);
    put_packed(&b, 3, &counts);
    for (size_t i = 0; h->exemplars && i < EXEMPLARS && top[i]; i++)
        pyro_put_exemplar(&b, 4, top[i], top[i]->time / NS_PER_MS, &h->groups->v.v[v->group]);
    put_packed(out, 2, &b);
    buf_free(&b);
    buf_free(&low);
    buf_free(&counts);
}

typedef struct ranked {
    size_t first, n;
    double sum;
} ranked;

static int by_sum(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->sum != y->sum ? (x->sum < y->sum ? 1 : -1)
                            : (x->first > y->first) - (x->first < y->first);
}

static void put_series(const heat *h, const ranked *r)
{
    buf b = {0};
    const pyro_item *v = h->items->v.v + r->first;
    buf_str(&b, h->groups->v.v[v->group].pairs);
    for (size_t i = 0, n; i < r->n; i += n) {
        for (n = 1; i + n < r->n && step_of(h, &v[i + n]) == step_of(h, &v[i]);) n++;
        put_slot(h, &v[i], n, &b);
    }
    put_packed(&h->k->body, 1, &b);
    buf_free(&b);
}

static bool put_all(heat *h, const pyro_request *r, err *e)
{
    const size_t n = h->items->v.n;
    ranked *v = arena_new(h->k->a, ranked, h->groups->v.n + 1);
    size_t n_series = 0;
    if (!v) return err_memory(e);
    if (n) qsort(h->items->v.v, n, sizeof *h->items->v.v, by_place);
    for (size_t i = 0, size; i < n; i += size) {
        ranked *x = &v[n_series++];
        *x = (ranked){.first = i};
        for (size = 0; i + size < n && h->items->v.v[i + size].group == h->items->v.v[i].group;
             size++)
            x->sum += (double)h->items->v.v[i + size].value;
        x->n = size;
    }
    if (n_series) qsort(v, n_series, sizeof *v, by_sum);
    if (r->has_limit && r->limit > 0 && (uint64_t)r->limit < n_series) n_series = (size_t)r->limit;
    take_rows(h);
    for (size_t i = 0; i < n_series; i++) put_series(h, &v[i]);
    return !h->k->body.failed || err_memory(e);
}

bool pyro_select_heat(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    pyro_selection s = {0};
    pyro_groups groups = {0};
    pyro_items items = {.k = k, .spans = r->heatmap == HEATMAP_SPAN};
    pyro_texts none = {0}, selector = {.v = (str[]){r->selector}, .n = 1};
    heat h = {.k = k,
              .items = &items,
              .groups = &groups,
              .exemplars = r->exemplars >= PYRO_EXEMPLARS_INDIVIDUAL};
    if (!r->profile_type.n) return err_set(e, ERR_USAGE, "missing profile_typeID");
    if (r->heatmap > HEATMAP_SPAN) return err_set(e, ERR_USAGE, "unknown query_type");
    if (!pyro_check_range(r->start, r->end, e) ||
        !pyro_steps_of(r->start, r->end, r->step, &h.t, e))
        return false;
    if (!h.t.n) return true;
    uint64_t first = h.t.first - h.t.step + 1, last = h.t.first + (h.t.n - 1) * h.t.step + 1;
    bool ok =
        pyro_select(k, &selector, r->profile_type, (int64_t)(first / NS_PER_MS), r->end + 1, &s,
                    e) &&
        pyro_observe(&s, first, last, &r->group_by, &none, &groups, pyro_collect, &items, e) &&
        put_all(&h, r, e);
    pyro_selection_free(&s);
    return ok;
}
