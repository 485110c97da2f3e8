/* server/refusals.h - which refusals are worth a line: each sender once a minute, and no more senders than a screen has lines. */
#pragma once
#include "net/world.h"

#define REFUSALS_NS (60 * NS_PER_S)
enum { REFUSALS_SENDERS = 16 };

/* The zero value is empty. */
typedef struct refusals {
    uint64_t until; /* of the minute; 0: none has begun */
    char senders[REFUSALS_SENDERS][80];
    size_t n;
    uint64_t unsaid;
} refusals;

/* true: say it, and that *unsaid others were not said before it. */
bool refusals_note(refusals *r, const char *sender, uint64_t now, uint64_t *unsaid);
