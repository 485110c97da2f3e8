/* Computes the heat map: columns of time from left to right, parts of a column from bottom to top.
 * Limits on rows and columns bound the memory, whatever the time range. */
#include "query/timeline.h"

#include "query/internal.h"
#include "query/spread.h"
#include "base/time.h"

#include "base/ban.h"

enum { ROWS = 50 };

/* Returns the time on a scale on which all cells have the length row_ns.  When the column is not a
 * multiple of the rows, its last row is longer; the surplus has no length on the scale. */
static uint64_t even(const heat *h, uint64_t time)
{
    uint64_t at = time - h->start, in = at % h->column_ns, most = h->row_ns * h->rows;
    return at / h->column_ns * most + (in < most ? in : most - 1);
}

/* Adds an interval that begins before `end`. */
static void add_interval(heat *h, int64_t *whole, uint64_t end, uint64_t from, uint64_t to,
                         int64_t v)
{
    spread_steps cells = {.end = even(h, end - 1) + 1, .step = h->row_ns};
    int64_t within = v;
    if (to > end) { /* by its length on the scale, the part within the range would be too large */
        within = (int64_t)((double)v * (double)(end - from) / (double)(to - from));
        to = end;
    }
    spread_add(&cells, h->sum, whole, even(h, from), even(h, to - 1) + 1, within);
}

static bool fill(const view *v, heat *h, int64_t *whole, uint64_t end, err *e)
{
    bool saturated = false;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        extent length = extent_of(p->m, p->p);
        uint64_t stop = p->end && p->end < end ? p->end : end;
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            sample s = sample_at(p->m, p->p, v->rows.v[i].sample);
            if (!stopper_step(v->stop, 1 + s.n_times, e)) return false;
            for (uint32_t o = 0; o < s.n_times; o++) {
                uint64_t time = s.times[o], from, to;
                if (!view_has_time(p, time) || time < h->start || time >= end) continue;
                size_t cell = (size_t)(even(h, time) / h->row_ns);
                int64_t value = view_observation(p, &s, o);
                extent_at(&length, &s, o, &from, &to);
                h->count[cell]++;
                if (length.kind == EXTENT_AFTER && from < to)
                    add_interval(h, whole, stop, from, to, value);
                else
                    h->sum[cell] = add_clamped(h->sum[cell], value, &saturated);
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
        own.end = t.covered;
    }
    if (!heat_init(&own, a, out, e)) return false;
    size_t n = (size_t)out->columns * out->rows;
    int64_t *whole = arena_new(a, int64_t, n + 1);
    if (!whole) return err_memory(e);
    if (!fill(v, out, whole, own.end, e)) return false;
    spread_finish(out->sum, whole, n);
    for (size_t i = 0; i < n; i++)
        if (out->sum[i] > out->max) out->max = out->sum[i];
    return true;
}
