/* format/observe.h - groups observations of equal identity into samples. Pure.
 *
 * The specification requires one sample for each {stack, attributes, link}, with a list of values
 * and a list of times (P-66). In the source the observations are interleaved, so they are counted
 * first, then their lists are allocated and filled:
 *
 *     uint32_t k = observe_key(&o, stack, attrs, n);  o.keys.v[k].n++;      for each observation
 *     observe_place(&o, OBSERVE_BOTH);                                      once per profile
 *     observe_put(&o, k, time, value);                                      then again for each */
#pragma once
#include "model/builder.h"
#include "model/ledger.h"

typedef enum observe_shape {
    OBSERVE_TIMES = 1,
    OBSERVE_VALUES = 2,
    OBSERVE_BOTH = 3
} observe_shape;

typedef struct observed {
    uint32_t stack;
    span attrs;      /* range of observe.attrs */
    uint32_t n;      /* observations */
    uint32_t filled; /* observations written by observe_put */
    size_t values_at, times_at;
} observed;

typedef struct observe {
    builder *b;
    arena *a; /* owns the tables below */
    VEC(observed) keys;
    u32s attrs;
    hash_index index;
    observe_shape shape;
    bool lengths;         /* a value is the length of an interval that begins at its time */
    uint64_t first, last; /* range of the times so far; first > last: none yet */
} observe;

observe observe_new(builder *b, arena *a);
/* Resets the window for another profile. */
static inline void observe_window_reset(observe *o) { o->first = UINT64_MAX, o->last = 0; }
/* Drops the keys but keeps the window. Called between threads, whose samples cannot have the same
 * identity. */
void observe_reset(observe *o);
/* Returns the key of an identity, or 0 when out of memory; the builder stores the error. */
uint32_t observe_key(observe *o, uint32_t stack, const uint32_t *attrs, size_t n);
/* Creates the samples of the newest profile, in order of their keys. */
void observe_place(observe *o, observe_shape shape);
void observe_put(observe *o, uint32_t key, uint64_t time, int64_t value);

/* ---- profiles ---- */

/* Adds a profile of this sample type. */
void observe_profile(builder *b, str type, str unit);
/* Sets time and duration of profile `p` so that they contain [first, last) (P-67). */
void observe_window(profile *p, uint64_t first, uint64_t last);

/* Return attributes that every JSON reader uses. */
uint32_t observe_thread_id(builder *b, int64_t tid);
uint32_t observe_thread_name(builder *b, str name);
/* Returns the attribute of a profile whose clock has an unknown epoch, and records this in the
 * ledger. The times do not change until a date is given (wire/anchor.h). */
uint32_t observe_epoch(builder *b, ledger *l);
