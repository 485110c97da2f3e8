/* otlp/backoff.h - exponential backoff with jitter between retries.  No I/O. */
#pragma once
#include "base/compiler.h"

typedef struct backoff {
    uint64_t first, most; /* ns; 0: 1 s and 30 s */
    unsigned tries;       /* consecutive failures */
} backoff;

/* Returns the next wait: first * 1.5^tries, at most `most`, times a random factor between 0.5 and
 * 1.5, so that many senders do not retry at the same time.  The result is at least `asked`, the
 * wait that the receiver requested. */
uint64_t backoff_next(backoff *b, uint64_t asked, uint64_t random);
static inline void backoff_reset(backoff *b) { b->tries = 0; }
