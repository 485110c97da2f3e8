/* The endpoint counts, and the default time range and step that other endpoints share. */
#include "server/query.h"

#include "server/endpoints.h"
#include "base/time.h"
#include "base/ban.h"

enum { BUCKETS = 240, BUCKETS_MAX = 100000 };
#define MS UINT64_C(1000000)

uint64_t query_round_step(uint64_t range)
{
    static const uint32_t fine[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
    static const uint32_t nice[] = {1,   2,   5,    10,   15,   30,    60,    120,  300,
                                    600, 900, 1800, 3600, 7200, 21600, 43200, 86400};
    for (size_t i = 0; i < ARRAY_LEN(fine); i++)
        if (range / (fine[i] * MS) <= BUCKETS) return fine[i] * MS;
    for (size_t i = 0; i < ARRAY_LEN(nice); i++)
        if (range / (nice[i] * NS_PER_S) <= BUCKETS) return nice[i] * NS_PER_S;
    return (range / BUCKETS / (86400 * NS_PER_S) + 1) * 86400 * NS_PER_S;
}

/* Sets *out to the time of the first observation of the selection. */
static bool first_time(query *k, uint64_t *out, err *e)
{
    store_series_list l = {0};
    store_read_result scanned;
    store_budget b = query_budget(k, 2);
    if (!store_list_series(k->store, &k->q, &b, k->a, &l, &scanned, e)) return false;
    query_spent(k, &scanned);
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].n_samples && l.v[i].first < *out) *out = l.v[i].first;
    return true;
}

bool query_range(query *k, err *e)
{
    const store_selector *q = &k->q;
    if (!k->q.end) k->q.end = k->now;
    if (!k->q.start) {
        uint64_t hour = 3600 * NS_PER_S, start = k->q.end > hour ? k->q.end - hour : 1,
                 first = start;
        bool all = params_get(&k->p, "start").p || q->trace_id || q->span_id || q->profile_id;
        if (all && !first_time(k, &first, e)) return false;
        k->q.start = first < start ? first : start;
    }
    return k->q.start < k->q.end || err_set(e, ERR_USAGE, "end must be after start");
}

static void put_counts(response_node *o, const store_buckets *b, uint64_t end, bool split)
{
    response_u64(o, "start", b->start);
    response_u64(o, "end", end);
    response_u64(o, "step", b->step);
    response_bool(o, "levels", b->levels);
    response_node *rows = response_list(o, "rows");
    response_may_cut(rows);
    for (size_t i = 0; i < b->rows.n; i++) {
        const store_row *r = &b->rows.v[i];
        response_node *x = response_object(rows, NULL);
        response_text(x, "label", r->label);
        if (split) response_text(x, "split", r->split);
        response_u64(x, "complete", r->complete);
        response_i64s(x, "sum", r->sum, b->n);
        response_u64s(x, "count", r->count, b->n);
        if (r->series) response_u32s(x, "series", r->series, b->n);
    }
}

bool api_counts(query *k, err *e)
{
    uint64_t step = 0;
    store_buckets b = {0};
    if (!params_duration(&k->p, "step", &step, e) || !query_range(k, e)) return false;
    if (!step && params_get(&k->p, "step").p)
        return err_set(e, ERR_USAGE, "step must be a duration greater than 0");
    if (!step) step = query_round_step(k->q.end - k->q.start);
    if ((k->q.end - k->q.start) / step > BUCKETS_MAX)
        return err_set(e, ERR_USAGE, "step is too short: the chart would have more than %d buckets",
                       BUCKETS_MAX);
    store_read_result scanned;
    store_budget limits = query_budget(k, 2);
    store_counts_opts o = {.step = step,
                           .by = params_get(&k->p, "by"),
                           .split = params_get(&k->p, "split"),
                           .hold = true,
                           .now = k->now};
    if (!store_counts(k->store, &k->q, &limits, &o, k->a, &b, &scanned, e)) return false;
    query_scanned(k, &scanned);
    put_counts(&k->w.root, &b, k->q.end, o.split.n > 0);
    return true;
}
