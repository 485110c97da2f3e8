/* Marks growth that is explained by inlining or renaming. Only the largest new and vanished frames
 * are compared with each other, because all pairs would be quadratic. */
#include "query/diff_moved.h"

#include "base/ban.h"

enum {
    RENAMED_MOST = 512, /* new and vanished frames that are compared with each other */
    PAIR_STEPS = 64,
};

/* Two costs count as equal unless the p-value of their difference is below this. */
#define DIFFERENT 0.001

/* ---- inlined ---- */

static double shrunk(const diff *d)
{
    double sum = 0;
    for (size_t i = 0; i < d->n_changed; i++)
        if (d->v[i].flat == DIFF_SHRANK) sum -= d->v[i].flat_change;
    return sum;
}

/* Returns whether r inlined a callee: its self amount grew, the amount of its callees fell, and
 * other frames shrank by a similar amount (`gone`). */
static bool is_inlined(const diff_row *r, double gone)
{
    if (r->flat != DIFF_GREW || r->cum == DIFF_GREW) return false;
    double callees = r->cum_change - r->flat_change;
    return -callees >= r->flat_change / 2 && gone >= r->flat_change / 2;
}

/* ---- renamed ---- */

static bool is_new(const diff_row *r) { return r->cum == DIFF_GREW && !r->before.cum; }

static bool is_gone(const diff_row *r) { return r->cum == DIFF_SHRANK && !r->after.cum; }

static bool same_cost(const recordings *r, const diff_row *gone, const diff_row *found)
{
    return recordings_p(r, AMOUNT_CUM, gone->frame, found->frame) > DIFFERENT &&
           recordings_p(r, AMOUNT_FLAT, gone->frame, found->frame) > DIFFERENT;
}

/* Finds the old name of a new frame: the first vanished frame with the same cost. Marks both as
 * moved; each vanished frame is used once. */
static bool find_old_name(const recordings *r, diff *d, diff_row *found, stopper *stop, err *e)
{
    for (size_t i = 0; i < d->n_changed && i < RENAMED_MOST; i++) {
        diff_row *gone = &d->v[i];
        if (!is_gone(gone) || gone->moved) continue;
        if (!stopper_step(stop, PAIR_STEPS, e)) return false;
        if (!same_cost(r, gone, found)) continue;
        gone->moved = found->moved = true;
        return true;
    }
    return true;
}

bool mark_moved(const recordings *r, diff *d, stopper *stop, err *e)
{
    double gone = shrunk(d);
    for (size_t i = 0; i < d->n_changed; i++) {
        diff_row *x = &d->v[i];
        if (is_inlined(x, gone)) x->moved = true;
        if (is_new(x) && i < RENAMED_MOST && !find_old_name(r, d, x, stop, e)) return false;
    }
    return true;
}
