/* otlp/sender.h - batches to one receiver on a loop: several requests in flight, retries, waiting, the spool.
 * No thread and no lock: otlp/exporter.h has both, and a test drives it with a clock of its own.
 *
 *   sender_add ─► queue ─► request ─► accepted, refused: settled
 *                   ▲         │
 *                   │         ├─ too large: split in two
 *                   │         └─ worth another try: wait, then again (until max_age)
 *                   └───────── with a spool: onto disk, with all that comes while we wait; oldest first from there
 *
 * Each request in flight has a connection of its own, which is opened when it is first needed.  After a failure one request at a
 * time is tried until one succeeds.  Batches may arrive in another order than they were added. */
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
    uint64_t cookie; /* the submitter's */
    uint64_t born;   /* loop_now when it was added */
    size_t held;     /* memory that it counts for with its submitter */

    /* the sender's */
    unsigned attempts;
    uint64_t duplicates; /* items that the receiver had already */
    unsigned
        *parts; /* how many of the batch that it was cut from are not settled; NULL: it is whole */
    uint64_t spooled; /* number of its file in the spool, or 0 */
    file_bytes file;  /* of that: in place of `bytes` */
} otlp_batch;

void otlp_batch_free(otlp_batch *b);

typedef enum outcome {
    OUTCOME_ACCEPTED,
    OUTCOME_PARTIAL, /* `rejected` of its items were not taken; or it came with a warning */
    OUTCOME_REFUSED,
    OUTCOME_MISFIT,    /* the two cannot talk as they are set up: TLS, certificates, protocol */
    OUTCOME_TOO_LARGE, /* and cannot be split: it has one item */
    OUTCOME_EXPIRED,   /* tried too long */
    OUTCOME_SPOOLED,   /* on disk; settled once more when it was sent from there, with cookie 0 */
    OUTCOME_UNSENT,    /* the end came first */
    OUTCOME_LOST,      /* neither sent nor kept: the spool failed */
} outcome;

const char *outcome_name(outcome o); /* "too_large" */

typedef struct settled {
    outcome outcome;
    uint64_t cookie; /* 0: from the spool of an earlier time */
    size_t items, bytes, held;
    int64_t rejected;
    uint64_t duplicates; /* of the accepted ones: the receiver had them already */
    unsigned attempts;
    const char *text; /* why, or "" */
    bool last; /* no part of the batch is left: false when it was cut and others are not settled */
} settled;

#define SENDER_FOREVER UINT64_MAX
enum { SENDER_IN_FLIGHT = 32 }; /* at most */

typedef struct sender_opts {
    const otlp_config *config; /* must outlive the sender */
    spool *spool;              /* NULL: none; owned by the sender from here on */
    uint64_t
        max_age; /* ns that a batch may wait for its delivery without a spool; 0: 5 min; SENDER_FOREVER: until it is
                                   delivered, refused, or the end comes, a receiver that does not fit included */
    unsigned in_flight;                   /* requests at the same time; 0: 1 */
    size_t max_request;                   /* bytes before compression; 0: 64 MiB (T-13) */
    uint64_t backoff_first, backoff_most; /* 0: 1 s, 30 s */
    const char *agent;                    /* product token before our User-Agent; may be NULL */
    otlp_counters *counters;
    /* All from the loop.  Both may be NULL. */
    void (*settled)(void *who, const settled *s);
    void (*say)(void *who, const char *sentence); /* trouble, once an outage; and its end */
    void *who;
} sender_opts;

/* ERR_SYS: a certificate that cannot be read, and the like; the spool is closed then. */
NODISCARD sender *sender_open(loop *l, const sender_opts *o, err *e);
/* What is left goes onto the spool, or is settled as unsent. */
void sender_close(sender *s);

void sender_add(sender *s, otlp_batch *b); /* takes it over */
/* With a spool: what waits in memory goes there now. */
void sender_spill(sender *s);

/* Nothing is under way or waits for anything but a receiver that is down. */
bool sender_idle(const sender *s);
/* The end is near: what cannot be retried before `deadline` is put away at once. */
void sender_drain(sender *s, uint64_t deadline);
