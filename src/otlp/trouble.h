/* otlp/trouble.h - what is said about deliveries that fail: once an outage, and its end; what the spool dropped, with its number. */
#pragma once
#include "otlp/config.h"
#include "otlp/spool.h"

typedef struct trouble {
    otlp_signal signal;
    void (*say)(void *who, const char *sentence); /* may be NULL */
    void *who;

    bool failing;  /* an outage that was said */
    char why[256]; /* the last reason */
    /* its own */
    uint64_t said_at, failed;
    char said[256];     /* the last reason that was said */
    spool_lost dropped; /* and not yet said */
    uint64_t dropped_said_at;
} trouble;

/* `now` is loop_now. */
void trouble_failed(trouble *t, uint64_t now,
                    const char *why); /* again after a minute, when it is another */
void trouble_over(trouble *t, uint64_t now);
/* At once, then once a minute with the number since. */
void trouble_dropped(trouble *t, uint64_t now, const spool_lost *lost);
void trouble_end(trouble *t, uint64_t now); /* what was not yet said */
