/* format/events_write.h - one Profile message of dialect C while it is written. */
#pragma once
#include "format/dialect_write.h"
#include "format/events.h"

typedef struct cw_clock {
    int64_t index; /* in the message it came from; -1: made here */
    uint64_t frequency, time_unix_nano;
    const any *attrs; /* kvlist, or NULL */
    i128 now;         /* ticks of the last event */
} cw_clock;

typedef struct cw_type {
    const profile *p, *counts; /* counts: the other half of a pair, or NULL */
    str name, unit;
    uint64_t default_value;
    uint32_t clock;
    bool clocked, interval;
    uint32_t takes; /* attributes of the profile that became fields */
} cw_type;

typedef struct cw {
    dw w; /* first */
    VEC(cw_clock) clocks;
    VEC(cw_type) types;
    VEC(const keyvalue *) extra; /* attributes of clocks: behind those of the model */
} cw;

void cw_types_of(cw *c, const profile *p, const profile *counts);
/* The fields of a Profile with c->types; p has the times and comments. */
void cw_put_profile(cw *c, const profile *p);
