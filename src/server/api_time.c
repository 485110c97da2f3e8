/* Answers about time. */
#include "server/ask.h"

#include "server/questions.h"
#include "base/ban.h"

enum { BUCKETS = 240, BUCKETS_MAX = 100000 };
#define NS UINT64_C(1000000000)
#define MS UINT64_C(1000000)

uint64_t ask_round_step(uint64_t range)
{
    static const uint32_t fine[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
    static const uint32_t nice[] = {1,   2,   5,    10,   15,   30,    60,    120,  300,
                                    600, 900, 1800, 3600, 7200, 21600, 43200, 86400};
    for (size_t i = 0; i < ARRAY_LEN(fine); i++)
        if (range / (fine[i] * MS) <= BUCKETS) return fine[i] * MS;
    for (size_t i = 0; i < ARRAY_LEN(nice); i++)
        if (range / (nice[i] * NS) <= BUCKETS) return nice[i] * NS;
    return (range / BUCKETS / (86400 * NS) + 1) * 86400 * NS;
}

/* When the first observation of the selection was. */
static bool first_time(ask *k, uint64_t *out, err *e)
{
    store_series_list l = {0};
    store_answer looked;
    store_budget b = ask_budget(k, 2);
    if (!store_list_series(k->store, &k->q, &b, k->a, &l, &looked, e)) return false;
    ask_spent(k, &looked);
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].n_samples && l.v[i].first < *out) *out = l.v[i].first;
    return true;
}

bool ask_range(ask *k, err *e)
{
    const store_selector *q = &k->q;
    if (!k->q.end) k->q.end = k->now;
    if (!k->q.start) {
        uint64_t hour = 3600 * NS, start = k->q.end > hour ? k->q.end - hour : 1, first = start;
        bool all = params_get(&k->p, "start").p || q->trace_id || q->span_id || q->profile_id;
        if (all && !first_time(k, &first, e)) return false;
        k->q.start = first < start ? first : start;
    }
    return k->q.start < k->q.end || err_set(e, ERR_USAGE, "end is not behind start");
}

bool api_counts(ask *k, err *e)
{
    uint64_t step = 0;
    store_buckets b = {0};
    if (!params_duration(&k->p, "step", &step, e) || !ask_range(k, e)) return false;
    if (!step && params_get(&k->p, "step").p)
        return err_set(e, ERR_USAGE, "step wants a time that is not 0");
    if (!step) step = ask_round_step(k->q.end - k->q.start);
    if ((k->q.end - k->q.start) / step > BUCKETS_MAX)
        return err_set(e, ERR_USAGE, "step would make more than %d buckets", BUCKETS_MAX);
    store_answer looked;
    store_budget limits = ask_budget(k, 2);
    if (!store_counts(k->store, &k->q, &limits, step, params_get(&k->p, "by"), k->a, &b, &looked,
                      e))
        return false;
    ask_looked(k, &looked);
    answer_node *o = &k->w.root;
    answer_u64(o, "start", b.start);
    answer_u64(o, "step", b.step);
    answer_node *rows = answer_list(o, "rows");
    answer_may_cut(rows);
    for (size_t i = 0; i < b.rows.n; i++) {
        answer_node *x = answer_object(rows, NULL);
        answer_text(x, "label", b.rows.v[i].label);
        answer_i64s(x, "sum", b.rows.v[i].sum, b.n);
        answer_u64s(x, "count", b.rows.v[i].count, b.n);
    }
    return true;
}
