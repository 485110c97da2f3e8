/* format/events_write.h - state of a Profile message of dialect C while it is written. */
#pragma once
#include "format/dialect_write.h"
#include "format/events.h"

typedef struct cw_clock {
    int64_t index; /* index in the input; -1: a new clock */
    uint64_t frequency, time_unix_nano;
    const any *attrs; /* kvlist, or NULL */
    i128 now;         /* ticks of the last event */
} cw_clock;

typedef struct cw_type {
    const profile *p, *counts; /* counts: the profile of a pair that has the counts, or NULL */
    str name, unit;
    uint64_t default_value;
    uint32_t clock;
    bool clocked, interval;
    uint32_t takes; /* roles of the profile's attributes that became fields */
} cw_type;

typedef struct cw {
    dw w; /* first member */
    VEC(cw_clock) clocks;
    VEC(cw_type) types;
    VEC(const keyvalue *) extra; /* attributes of clocks, after those of the model */
} cw;

void cw_types_of(cw *c, const profile *p, const profile *counts);
/* Writes the fields of a Profile with c->types; p has the times and comments. */
void cw_put_profile(cw *c, const profile *p);
