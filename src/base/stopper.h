/* base/stopper.h - for long work that may be given up: whoever does it asks every so many steps.
 *
 *   for (...) { if (!stopper_step(s, 1, e)) return false; ... }         s NULL: nobody ever wants that
 *
 * The work stays pure: clocks and flags of other threads are behind `over`. */
#pragma once
#include "base/compiler.h"
#include "base/err.h"

typedef struct stopper {
    /* true: give up, and `e` says why. */
    bool (*over)(void *who, err *e);
    void *who;
    uint64_t steps; /* since it was asked last */
} stopper;

/* Some ten microseconds of most work: nobody notices that much more of it, and asking costs nothing beside it. */
enum { STOPPER_STEPS = 4096 };

/* Asks now.  false: give up. */
NODISCARD static inline bool stopper_now(stopper *s, err *e)
{
    if (!s) return true;
    s->steps = 0;
    return !s->over(s->who, e);
}

/* n steps were done, or are about to be. */
NODISCARD static inline bool stopper_step(stopper *s, uint64_t n, err *e)
{
    if (!s || LIKELY((s->steps += n) < STOPPER_STEPS)) return true;
    return stopper_now(s, e);
}
