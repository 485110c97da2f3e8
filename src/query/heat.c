/* The heat map: seconds from left to right, parts of a second from bottom to top. */
#include "query/timeline.h"

#include "query/internal.h"

#include "base/ban.h"

enum { ROWS = 50, MAX_ROWS = 1000 };
#define SECOND UINT64_C(1000000000)

static void fill(const view *v, heat *h)
{
    bool saturated = false;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            sample s = sample_at(p->m, p->p, v->rows.v[i].sample);
            for (uint32_t o = 0; o < s.n_times; o++) {
                if (!view_has_time(p, s.times[o])) continue;
                uint64_t at = s.times[o] - h->start, row = at % SECOND / h->row_ns;
                if (row >= h->rows) row = h->rows - 1; /* rows that do not divide a second */
                int64_t *cell = &h->sum[at / SECOND * h->rows + row];
                *cell = add_clamped(*cell, view_observation(p, &s, o), &saturated);
            }
        }
    }
}

bool heat_of(const view *v, uint32_t rows, arena *a, heat *out, err *e)
{
    time_range t = view_time_range(v);
    if (!rows) rows = ROWS;
    if (rows > MAX_ROWS) return err_set(e, ERR_USAGE, "a heat map has at most %d rows", MAX_ROWS);
    *out = (heat){.rows = rows, .row_ns = SECOND / rows};
    if (!t.n_timed) return true;
    out->start = t.start - t.start % SECOND;
    uint64_t columns = (t.end - 1 - out->start) / SECOND + 1;
    if (columns > HEAT_MAX_COLUMNS)
        return err_set(e, ERR_LIMIT, "%llu seconds are more than the %d that a heat map can show",
                       (unsigned long long)columns, HEAT_MAX_COLUMNS);
    out->columns = (uint32_t)columns;
    out->sum = arena_new(a, int64_t, columns * rows);
    if (!out->sum) return query_no_memory(e);
    fill(v, out);
    for (size_t i = 0; i < columns * rows; i++)
        if (out->sum[i] > out->max) out->max = out->sum[i];
    return true;
}
