/* record/phase.h - where the sampling periods of a perf event begin.  Pure.
 *
 * The first observation of a thread must be due at a random point of its first period: otherwise the
 * last part of its time never has one, and a thread that uses less than a period has none at all.  The
 * kernel begins an event with a full period, and to change the period begins it again.  So an event
 * starts with a shorter one, and its samples are added up here until an observation is due; after the
 * first sample the recorder sets the full period (perf.c). */
#pragma once
#include "base/compiler.h"
#include <stdint.h>

enum { PHASE_STEPS = 8 }; /* the first period is at least an eighth: its samples are not too many */

typedef struct phase {
    uint64_t period;  /* ns that an observation represents */
    uint64_t first;   /* period of the event until `changed` */
    uint64_t behind;  /* ns that no observation represents yet */
    uint64_t changed; /* time; UINT64_MAX: not yet */
} phase;

/* The first observation is due after random % period + 1. */
static inline phase phase_begin(uint64_t period, uint64_t random)
{
    uint64_t due = random % period + 1, least = period / PHASE_STEPS;
    return (phase){.period = period,
                   .first = due > least ? due : least,
                   .behind = period - due,
                   .changed = UINT64_MAX};
}

/* Returns the period of the event at this time. */
static inline uint64_t phase_period(const phase *p, uint64_t time)
{
    return time < p->changed ? p->first : p->period;
}

/* Adds the CPU time of a sample.  Returns the time that an observation now represents; 0: none is due.
 * After the change, the first one also represents the rest of the short periods, because the kernel
 * cannot take it earlier. */
static inline uint64_t phase_take(phase *p, uint64_t time, uint64_t ns)
{
    p->behind += ns;
    uint64_t due = p->behind - (time < p->changed ? p->behind % p->period : 0);
    p->behind -= due;
    return due;
}

/* The event begins its full period at `time`.  counted: its CPU time so far, whose part since the last
 * sample has no sample. */
static inline void phase_change(phase *p, uint64_t time, uint64_t counted)
{
    p->behind += counted % p->first;
    p->changed = time;
}
