/* Answers about time. */
#include "server/ask.h"

#include "server/questions.h"
#include "base/ban.h"

enum { BUCKETS = 240, BUCKETS_MAX = 100000 };
#define NS UINT64_C(1000000000)
#define MS UINT64_C(1000000)

/* A step that makes about BUCKETS buckets: 1, 2, 5 ... ms, 1, 2, 5, 10, 15, 30 s, minutes, hours. */
static uint64_t round_step(uint64_t range)
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

bool api_counts(ask *k, err *e)
{
    uint64_t step = 0;
    store_buckets b = {0};
    if (!k->q.end) k->q.end = k->now;
    if (!k->q.start) k->q.start = k->q.end > 3600 * NS ? k->q.end - 3600 * NS : 1;
    if (!params_duration(&k->p, "step", &step, e)) return false;
    if (k->q.start >= k->q.end) return err_set(e, ERR_USAGE, "end is not behind start");
    if (!step) step = round_step(k->q.end - k->q.start);
    if ((k->q.end - k->q.start) / step > BUCKETS_MAX)
        return err_set(e, ERR_USAGE, "step would make more than %d buckets", BUCKETS_MAX);
    if (!store_counts(k->store, &k->q, step, params_get(&k->p, "by"), k->a, &b, &k->looked, e))
        return false;
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
