/* otlp/sender.h - sends batches to one receiver on a loop: concurrent requests, retries, spool.  It
 * has no thread and no lock, so that tests can use a simulated clock; otlp/exporter.h adds both.
 *
 *   sender_add ─► queue ─► request ─► accepted, refused: settled
 *                   ▲         │
 *                   │         ├─ too large: split in two
 *                   │         └─ retryable: wait, then send again (until max_age)
 *                   └───────── with a spool: to disk, with all new batches; oldest first from there
 *
 * Each concurrent request has its own connection, opened on demand.  After a failure the sender
 * sends one request at a time until one succeeds.  Batches may arrive in another order than they
 * were added. */
#pragma once
#include "base/buf.h"
#include "net/loop.h"
#include "otlp/config.h"
#include "otlp/counters.h"
#include "otlp/spool.h"

typedef struct sender sender;

typedef struct otlp_batch {
    struct otlp_batch *next;
    buf bytes; /* ExportProfilesServiceRequest or ExportLogsServiceRequest */
    size_t items;
    uint64_t cookie; /* the submitter's value, passed to `settled` */
    uint64_t born;   /* loop_now when it was added */
    size_t held;     /* bytes that the submitter accounts for */

    /* used by the sender */
    unsigned attempts;
    uint64_t duplicates; /* items that the receiver had already stored */
    /* Number of unsettled parts of the batch that it was split from; NULL: not split. */
    unsigned *parts;
    uint64_t spooled; /* number of its file in the spool, or 0 */
    file_bytes file;  /* that file, instead of `bytes` */
} otlp_batch;

void otlp_batch_free(otlp_batch *b);

typedef enum outcome {
    OUTCOME_ACCEPTED,
    OUTCOME_PARTIAL, /* the receiver rejected `rejected` items, or sent a warning */
    OUTCOME_REFUSED,
    OUTCOME_MISFIT,    /* sender and receiver are incompatible: TLS, certificates, protocol */
    OUTCOME_TOO_LARGE, /* too large, and cannot be split further */
    OUTCOME_EXPIRED,   /* older than max_age */
    OUTCOME_SPOOLED,   /* on disk; settled again, with cookie 0, when sent from there */
    OUTCOME_UNSENT,    /* the sender was closed first */
    OUTCOME_LOST,      /* neither sent nor stored: the spool failed */
} outcome;

const char *outcome_name(outcome o); /* "too_large" */

typedef struct settled {
    outcome outcome;
    uint64_t cookie; /* 0: from the spool */
    size_t items, bytes, held;
    int64_t rejected;
    uint64_t duplicates; /* accepted items that the receiver had already stored */
    unsigned attempts;
    const char *text; /* why, or "" */
    bool last;        /* all other parts of a split batch are settled */
} settled;

#define SENDER_FOREVER UINT64_MAX
enum { SENDER_IN_FLIGHT = 32 }; /* limit of in_flight */

typedef struct sender_opts {
    const otlp_config *config; /* must outlive the sender */
    spool *spool;              /* NULL: none; sender_open takes ownership */
    /* How long a batch may wait without a spool, in ns; 0: 5 min; SENDER_FOREVER: until it is
     * delivered or refused. */
    uint64_t max_age;
    unsigned in_flight;                   /* concurrent requests; 0: 1 */
    size_t max_request;                   /* bytes before compression; 0: 64 MiB (T-13) */
    uint64_t backoff_first, backoff_most; /* 0: 1 s, 30 s */
    const char *agent; /* product token before Kiln's in User-Agent; may be NULL */
    otlp_counters *counters;
    /* Called from the loop; may be NULL. */
    void (*settled)(void *ctx, const settled *s);
    void (*say)(void *ctx, const char *message); /* failures, once for each outage, and recovery */
    void *ctx;
} sender_opts;

/* Fails with ERR_SYS when a certificate cannot be read.  Closes the spool on failure. */
NODISCARD sender *sender_open(loop *l, const sender_opts *o, err *e);
/* Spools the remaining batches, or settles them as unsent, and frees the sender. */
void sender_close(sender *s);

void sender_add(sender *s, otlp_batch *b); /* takes ownership */
/* With a spool: writes the waiting batches to it now. */
void sender_spill(sender *s);

/* Returns whether nothing is in flight and no batch waits, except for an unreachable receiver. */
bool sender_idle(const sender *s);
/* Prepares to close: batches that cannot be retried before `deadline` are spooled or settled at
 * once. */
void sender_drain(sender *s, uint64_t deadline);
