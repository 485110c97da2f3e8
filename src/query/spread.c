/* Spreads intervals over steps of time (spread.h). The rounding of the shares is in the first step,
 * so that they add up. */
#include "query/spread.h"

#include "base/ban.h"

__extension__ typedef __int128 wide;

/* Returns the share of `part` ns in the value of an interval of `length` ns. */
static int64_t share(int64_t value, uint64_t part, uint64_t length)
{
    return (int64_t)((wide)value * (wide)part / (wide)length);
}

void spread_add(const spread_steps *x, int64_t *sum, int64_t *whole, uint64_t from, uint64_t to,
                int64_t value)
{
    uint64_t length = to - from;
    if (!spread_meets(x, from, to)) return;
    if (from < x->start) from = x->start;
    if (to > x->end) to = x->end;
    size_t first = (size_t)((from - x->start) / x->step),
           last = (size_t)((to - 1 - x->start) / x->step);
    int64_t left = share(value, to - from, length);
    if (first < last) {
        int64_t end = share(value, to - (x->start + last * x->step), length);
        sum[last] = add_saturating(sum[last], end, NULL);
        left -= end;
    }
    if (last - first > 1) {
        int64_t each = share(value, x->step, length);
        whole[first + 1] = add_saturating(whole[first + 1], each, NULL);
        whole[last] = add_saturating(whole[last], -each, NULL);
        left -= each * (int64_t)(last - first - 1);
    }
    sum[first] = add_saturating(sum[first], left, NULL);
}

void spread_finish(int64_t *sum, const int64_t *whole, size_t n)
{
    int64_t each = 0;
    for (size_t i = 0; i < n; i++) {
        each = add_saturating(each, whole[i], NULL);
        sum[i] = add_saturating(sum[i], each, NULL);
    }
}
