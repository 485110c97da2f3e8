/* The endpoint heat: sums in columns of time (a second, for example), each divided into rows. */
#include "server/query.h"

#include "query/timeline.h"
#include "server/endpoints.h"
#include "base/ban.h"

enum { ROWS = 50, HEAD = 1024 };

/* Widens the range to whole columns. */
static bool take_range(query *k, heat_range *r, err *e)
{
    uint64_t rows = ROWS;
    if (!params_duration(&k->p, "column", &r->column_ns, e) ||
        !params_number(&k->p, "rows", HEAT_MAX_ROWS, &rows, e) || !query_range(k, e))
        return false;
    if (!r->column_ns && params_get(&k->p, "column").p)
        return err_set(e, ERR_USAGE, "column must be a duration greater than 0");
    if (!r->column_ns) r->column_ns = query_round_step(k->q.end - k->q.start);
    if (!rows || r->column_ns % rows)
        return err_set(e, ERR_USAGE, "rows must divide the column of %llu ns",
                       (unsigned long long)r->column_ns);
    r->rows = (uint32_t)rows;
    r->start = k->q.start - k->q.start % r->column_ns;
    if (ckd_add(&r->end, k->q.end, r->column_ns - 1))
        return err_set(e, ERR_USAGE, "end is too late");
    r->end -= r->end % r->column_ns;
    uint64_t columns = (r->end - r->start) / r->column_ns;
    if (columns > HEAT_MAX_COLUMNS)
        return err_set(e, ERR_USAGE,
                       "column is too short: the heat map would have more than %d columns",
                       HEAT_MAX_COLUMNS);
    k->q.start = r->start, k->q.end = r->end;
    return true;
}

/* Without view options the store computes the sums without reading stacks. */
static bool count_all(query *k, const heat_range *r, heat *h, err *e)
{
    store_buckets b = {0};
    store_read_result scanned;
    store_budget limits = query_budget(k, 2);
    if (!heat_init(r, k->a, h, e) ||
        !store_counts(k->store, &k->q, &limits, &(store_counts_opts){.step = h->row_ns}, k->a, &b,
                      &scanned, e))
        return false;
    query_scanned(k, &scanned);
    if (b.rows.n) h->sum = b.rows.v[0].sum, h->count = b.rows.v[0].count;
    size_t n = (size_t)h->columns * h->rows;
    for (size_t i = 0; i < n; i++)
        if (h->sum[i] > h->max) h->max = h->sum[i];
    return true;
}

static void put_type(query *k, str type)
{
    size_t n = 0;
    while (n < type.n && type.p[n] != '/') n++;
    response_text(&k->w.root, "type", (str){type.p, n});
    response_text(&k->w.root, "unit",
                  n < type.n ? (str){type.p + n + 1, type.n - n - 1} : (str){0});
}

static void put_heat(query *k, const heat *h)
{
    response_node *o = &k->w.root;
    size_t n = (size_t)h->columns * h->rows;
    response_u64(o, "start", h->start);
    response_u64(o, "column", h->column_ns);
    response_u64(o, "columns", h->columns);
    response_u64(o, "row", h->row_ns);
    response_u64(o, "rows", h->rows);
    response_i64s(o, "sum", h->sum, n);
    response_u64s(o, "count", h->count, n);
    response_i64(o, "max", h->max);
}

/* Keeps the first columns that fit max_bytes. */
static void fit(query *k, heat *h)
{
    uint64_t most_counts = 0;
    int64_t low = 0;
    for (size_t i = 0; i < (size_t)h->columns * h->rows; i++) {
        if (h->count[i] > most_counts) most_counts = h->count[i];
        if (h->sum[i] < low) low = h->sum[i];
    }
    size_t cell =
        query_width(k, low, h->max) + query_width(k, 0, (int64_t)(most_counts & INT64_MAX));
    size_t room = k->max_bytes > HEAD ? k->max_bytes - HEAD : 0;
    size_t columns = room / (cell * h->rows);
    if (columns >= h->columns) return;
    query_cut(k, "max_bytes: only the first %zu of %u columns are included", columns, h->columns);
    h->columns = (uint32_t)columns;
}

bool api_heat(query *k, err *e)
{
    heat_range r = {0};
    heat h;
    if (!take_range(k, &r, e) || !query_type(k, &k->q, e)) return false;
    if (query_has_view(k)) {
        model m;
        frame_table f;
        view v;
        if (!query_samples(k, &m, &f, &v, e) || !heat_of(&v, &r, k->a, &h, e)) return false;
    } else if (!count_all(k, &r, &h, e)) {
        return false;
    }
    put_type(k, k->q.type);
    fit(k, &h);
    put_heat(k, &h);
    return true;
}
