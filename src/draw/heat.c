/* The grid, the levels and the axis of heat maps, for the terminal and the SVG. */
#include "draw/heat.h"

#include "draw/palette.h"
#include "base/ban.h"

bool heat_grid_of(const heat *h, size_t max_columns, arena *a, heat_grid *out, err *e)
{
    uint32_t per = max_columns ? (uint32_t)((h->columns + max_columns - 1) / max_columns) : 1;
    if (!per) per = 1;
    *out = (heat_grid){.per = per, .columns = (h->columns + per - 1) / per, .rows = h->rows};
    size_t n = (size_t)out->columns * h->rows;
    out->sum = arena_new(a, int64_t, n);
    if (!out->sum) return err_memory(e);
    for (uint32_t c = 0; c < h->columns; c++) {
        for (uint32_t r = 0; r < h->rows; r++) {
            int64_t *to = &out->sum[(size_t)(c / per) * h->rows + r],
                    v = h->sum[(size_t)c * h->rows + r];
            if (ckd_add(to, *to, v)) *to = v < 0 ? INT64_MIN : INT64_MAX;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (out->sum[i] > out->max) out->max = out->sum[i];
    return true;
}

unsigned heat_level(const heat_grid *g, int64_t v)
{
    if (v <= 0) return 0;
    unsigned level = (unsigned)((double)v / (double)g->max * (PALETTE_HEAT - 1) + 0.9999);
    return level < PALETTE_HEAT ? level : PALETTE_HEAT - 1;
}

uint64_t heat_tick(const heat_grid *g, double apart)
{
    static const uint64_t steps[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (steps[i] % g->per == 0 && (double)steps[i] >= apart * (double)g->per) return steps[i];
    uint64_t columns = (uint64_t)apart + 1;
    return columns * g->per;
}
