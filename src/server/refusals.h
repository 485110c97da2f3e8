/* server/refusals.h - limits log lines about rejected requests: one per minute and sender, for a
 * fixed number of senders. */
#pragma once
#include "net/world.h"

#define REFUSALS_NS (60 * NS_PER_S)
enum { REFUSALS_SENDERS = 16 };

/* The zero value is empty. */
typedef struct refusals {
    uint64_t until; /* end of the current minute; 0: none yet */
    char senders[REFUSALS_SENDERS][80];
    size_t n;
    uint64_t suppressed;
} refusals;

/* Returns whether to log this rejection. Sets *suppressed to the number of earlier ones that were
 * not logged. */
bool refusals_note(refusals *r, const char *sender, uint64_t now, uint64_t *suppressed);
