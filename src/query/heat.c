/* Computes the heat map: columns of time from left to right, parts of a column from bottom to top.
 * Limits on rows and columns bound the memory, whatever the time range. */
#include "query/timeline.h"

#include "query/internal.h"
#include "base/time.h"

#include "base/ban.h"

enum { ROWS = 50 };

static bool fill(const view *v, heat *h, uint64_t end, err *e)
{
    bool saturated = false;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            sample s = sample_at(p->m, p->p, v->rows.v[i].sample);
            if (!stopper_step(v->stop, 1 + s.n_times, e)) return false;
            for (uint32_t o = 0; o < s.n_times; o++) {
                uint64_t time = s.times[o];
                if (!view_has_time(p, time) || time < h->start || time >= end) continue;
                uint64_t at = time - h->start, row = at % h->column_ns / h->row_ns;
                if (row >= h->rows) row = h->rows - 1; /* column_ns is not a multiple of rows */
                size_t cell = (size_t)(at / h->column_ns * h->rows + row);
                h->sum[cell] = add_clamped(h->sum[cell], view_observation(p, &s, o), &saturated);
                h->count[cell]++;
            }
        }
    }
    return true;
}

bool heat_init(const heat_range *r, arena *a, heat *out, err *e)
{
    uint32_t rows = r->rows ? r->rows : ROWS;
    uint64_t column = r->column_ns ? r->column_ns : NS_PER_S;
    if (rows > HEAT_MAX_ROWS || rows > column)
        return err_set(e, ERR_USAGE, "a heat map has at most %d rows of at least one nanosecond",
                       HEAT_MAX_ROWS);
    *out = (heat){.rows = rows, .column_ns = column, .row_ns = column / rows, .start = r->start};
    uint64_t columns = (r->end - r->start + column - 1) / column;
    if (columns > HEAT_MAX_COLUMNS)
        return err_set(e, ERR_LIMIT, "%llu columns are more than the %d that a heat map can show",
                       (unsigned long long)columns, HEAT_MAX_COLUMNS);
    out->columns = (uint32_t)columns;
    out->sum = arena_new(a, int64_t, columns * rows);
    out->count = arena_new(a, uint64_t, columns * rows);
    return (out->sum && out->count) || err_memory(e);
}

bool heat_of(const view *v, const heat_range *r, arena *a, heat *out, err *e)
{
    heat_range own = *r;
    uint64_t column = r->column_ns ? r->column_ns : NS_PER_S;
    if (!own.end) {
        time_range t = view_time_range(v);
        own.start = t.start - t.start % column;
        own.end = t.end;
    }
    if (!heat_init(&own, a, out, e)) return false;
    if (!fill(v, out, own.end, e)) return false;
    for (size_t i = 0; i < (size_t)out->columns * out->rows; i++)
        if (out->sum[i] > out->max) out->max = out->sum[i];
    return true;
}
