/* otlp/backoff.h - how long to wait before the next try: longer each time, never twice the same.  Pure. */
#pragma once
#include "base/compiler.h"

typedef struct backoff {
    uint64_t first, most; /* ns; 0: 1 s and 30 s */
    unsigned tries;       /* in a row that failed */
} backoff;

/* The next wait: first * 1.5^tries, at most `most`, times something between 0.5 and 1.5 that `random` chooses,
 * so that a thousand senders do not come back at once; at least what the receiver asked for. */
uint64_t backoff_next(backoff *b, uint64_t asked, uint64_t random);
static inline void backoff_reset(backoff *b) { b->tries = 0; }
