/* otlp/failure_log.h - logs failed deliveries: once for each outage, its end, and batches that the
 * spool dropped. */
#pragma once
#include "otlp/config.h"
#include "otlp/spool.h"

typedef struct failure_log {
    otlp_signal signal;
    void (*say)(void *ctx, const char *message); /* may be NULL */
    void *ctx;

    bool failing;  /* an outage is in progress and was logged */
    char why[256]; /* the last reason */
    /* private */
    uint64_t logged_at, failed;
    char logged[256];   /* the last reason that was logged */
    spool_lost dropped; /* not yet logged */
    uint64_t dropped_logged_at;
} failure_log;

/* `now` is loop_now in all functions. */
void failure_log_failed(failure_log *t, uint64_t now,
                        const char *why); /* logs again after a minute if the reason changed */
void failure_log_recovered(failure_log *t, uint64_t now);
/* Logs dropped batches at once, then once a minute with the count since the last line. */
void failure_log_dropped(failure_log *t, uint64_t now, const spool_lost *lost);
void failure_log_end(failure_log *t, uint64_t now); /* logs pending drops */
