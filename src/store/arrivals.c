/* Keeps the end of the newest profile of each series, and which rows have data of it. */
#include "store/arrivals.h"

#include "base/ban.h"

/* A series has ended when nothing arrived for three intervals. The limits cover senders whose
 * interval is not known or odd. */
#define LATE 3
#define LATE_LEAST (15 * NS_PER_S)
#define INTERVAL_UNKNOWN (60 * NS_PER_S)

bool arrivals_see(arrivals *x, uint32_t series, uint64_t end, uint64_t duration)
{
    while (x->v.n <= series) {
        arrival *fresh = vec_push(x->a, &x->v);
        if (!fresh) return false;
        *fresh = (arrival){0};
    }
    arrival *y = &x->v.v[series];
    if (end <= y->end) return true;
    if (duration)
        y->interval = duration;
    else if (y->end)
        y->interval = end - y->end;
    y->end = end;
    return true;
}

bool arrivals_link(arrivals *x, uint32_t row, uint32_t series)
{
    while (x->latest.n <= row) {
        uint32_t *fresh = vec_push(x->a, &x->latest);
        if (!fresh) return false;
        *fresh = 0;
    }
    if (x->latest.v[row] == series + 1) return true;
    x->latest.v[row] = series + 1;
    if (!hash_index_room(&x->by_link, x->a)) return false;
    uint64_t h = hash_mix(hash_mix(x->by_link.seed, row), series);
    uint32_t i = hash_first(&x->by_link, h);
    for (uint32_t at; hash_next(&x->by_link, &i, h, &at); i++)
        if (x->links.v[at].row == row && x->links.v[at].series == series) return true;
    arrival_link *l = vec_push(x->a, &x->links);
    if (!l) return false;
    *l = (arrival_link){row, series};
    hash_put(&x->by_link, i, h, (uint32_t)(x->links.n - 1));
    return true;
}

static bool still_sends(const arrival *y, uint64_t now)
{
    uint64_t late, due;
    if (ckd_mul(&late, y->interval ? y->interval : INTERVAL_UNKNOWN, (uint64_t)LATE) ||
        late > ARRIVALS_RECENT)
        late = ARRIVALS_RECENT;
    if (late < LATE_LEAST) late = LATE_LEAST;
    return ckd_add(&due, y->end, late) || due >= now;
}

void arrivals_complete(const arrivals *x, uint64_t now, uint64_t *complete, size_t n)
{
    for (size_t i = 0; i < x->links.n; i++) {
        arrival_link l = x->links.v[i];
        const arrival *y = &x->v.v[l.series];
        if (l.row < n && y->end < complete[l.row] && still_sends(y, now)) complete[l.row] = y->end;
    }
}
