/* format/observe.h - observations with a time, put together into samples of equal identity.  Pure.
 *
 * The specification wants samples of equal {stack, attributes, link} to be one, with a list of
 * values and a list of times (P-66).  A source has them one after another, so they are counted
 * first, then given room, then filled in:
 *
 *     uint32_t k = observe_key(&o, stack, attrs, n);  o.keys.v[k].n++;      for each observation
 *     observe_place(&o, OBSERVE_BOTH);                                      once a profile
 *     observe_put(&o, k, time, value);                                      for each, once more
 */
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
    span attrs;      /* in the pool below */
    uint32_t n;      /* observations */
    uint32_t filled; /* of them */
    size_t values_at, times_at;
} observed;

typedef struct observe {
    builder *b;
    arena *a; /* of the tables below */
    VEC(observed) keys;
    u32s attrs;
    hash_index index;
    observe_shape shape;
    bool lengths;         /* a value is the length of an interval that begins at its time */
    uint64_t first, last; /* what was put lies in [first, last); first > last: nothing yet */
} observe;

observe observe_new(builder *b, arena *a);
/* Forgets the window: another profile begins. */
static inline void observe_window_reset(observe *o) { o->first = UINT64_MAX, o->last = 0; }
/* Forgets the keys and the window stays: samples of another thread cannot have the same identity. */
void observe_reset(observe *o);
/* 0 when out of memory; the builder remembers. */
uint32_t observe_key(observe *o, uint32_t stack, const uint32_t *attrs, size_t n);
/* Makes the samples of the newest profile, in order of their keys. */
void observe_place(observe *o, observe_shape shape);
void observe_put(observe *o, uint32_t key, uint64_t time, int64_t value);

/* ---- profiles ---- */

/* A new profile of that sample type. */
void observe_profile(builder *b, str type, str unit);
/* Sets time and duration of profile `p` so that they hold [first, last) (P-67). */
void observe_window(profile *p, uint64_t first, uint64_t last);

/* Names of attributes and text that every JSON reader uses. */
uint32_t observe_thread_id(builder *b, int64_t tid);
uint32_t observe_thread_name(builder *b, str name);
/* The attribute of a profile whose clock has no known beginning, noted in the ledger: the times stay as they are until somebody
 * knows a date (wire/anchor.h). */
uint32_t observe_epoch(builder *b, ledger *l);
