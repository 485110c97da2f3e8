/* server/forward.h - passes on what was received, as an intermediary would: the same bytes and the same signal.
 *
 *   acknowledged ─► journal of the store ─► memory ─► receiver, IN_FLIGHT requests at a time
 *                        │                    └─► spool, when the journal fills up, or a request failed
 *                        └─► lost: counted and logged
 *
 * It follows the store (store_follow): senders never wait for the receiver, a restart goes on where forwarding ended, and what was
 * acknowledged arrives at least once.  A receiver that is down or slow costs memory up to forward.queue and disk up to
 * forward.journal-size, then forward.spool-size if there is a spool; what does not fit there is lost, counted and logged. */
#pragma once
#include "otlp/exporter.h"
#include "server/config.h"
#include "store/store.h"

typedef struct forward forward;

/* Would forward_open do?  Opens nothing. */
NODISCARD bool forward_check(const forward_config *c, err *e);

/* Starts its threads; a spool has a directory of its own for each signal.  The texts of *c must outlive it, and so must the store
 * until forward_stop. */
NODISCARD forward *forward_open(const forward_config *c, store *s, logger *log, err *e);

/* Sends what it can within the time and ends the threads; the rest is for the next start.  NULL is fine. */
void forward_stop(forward *f, uint64_t timeout_ns);
void forward_close(forward *f); /* after forward_stop */

/* Something was acknowledged.  Any thread, also after forward_stop. */
void forward_wake(forward *f);

otlp_counts forward_counted(const forward *f, otlp_signal s); /* before forward_stop */

#define FORWARD_STATE(X)                                                                           \
    X(gauge, waiting_requests, "requests acknowledged that were not yet forwarded")                \
    X(gauge, journal_bytes, "bytes of the journal kept for them after compaction")                 \
    X(counter, lost_requests, "requests acknowledged that were lost before they were forwarded")

typedef struct forward_state {
#define X(kind, name, what) uint64_t name;
    FORWARD_STATE(X)
#undef X
} forward_state;

forward_state forward_state_of(const forward *f);
