/* base/stopper.h - cancels long work.  The work calls stopper_step() for every step.
 *
 *   for (...) { if (!stopper_step(s, 1, e)) return false; ... }         s may be NULL
 *
 * The work itself reads no clocks or flags of other threads; the callback `over` does. */
#pragma once
#include "base/compiler.h"
#include "base/err.h"

typedef struct stopper {
    /* Returns true to cancel, with the reason in `e`. */
    bool (*over)(void *ctx, err *e);
    void *ctx;
    uint64_t steps; /* steps since the last call of `over` */
} stopper;

/* Steps between two calls of `over`. They take about ten microseconds: short enough to cancel at
 * once, long enough that the callback costs little. */
enum { STOPPER_STEPS = 4096 };

/* Calls `over` now. Returns false to cancel. */
NODISCARD static inline bool stopper_now(stopper *s, err *e)
{
    if (!s) return true;
    s->steps = 0;
    return !s->over(s->ctx, e);
}

/* Counts n steps, and calls `over` after every STOPPER_STEPS steps. Returns false to cancel. */
NODISCARD static inline bool stopper_step(stopper *s, uint64_t n, err *e)
{
    if (!s || LIKELY((s->steps += n) < STOPPER_STEPS)) return true;
    return stopper_now(s, e);
}
