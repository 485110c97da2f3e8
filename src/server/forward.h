/* server/forward.h - forwards received profiles to another receiver, as the same bytes and signal.
 *
 *   acknowledged ─► journal of the store ─► memory ─► receiver, up to IN_FLIGHT concurrent requests
 *                        │                    └─► spool, when the journal fills up or a request fails
 *                        └─► lost: counted and logged
 *
 * Forwarding follows the journal of the store (store_follow). Senders never wait for the receiver,
 * a restart continues where forwarding stopped, and every acknowledged request arrives at least
 * once. While the receiver is down or slow, requests occupy memory up to forward.queue and disk up
 * to forward.journal-size, then forward.spool-size if there is a spool. Requests beyond that are
 * lost, counted and logged. */
#pragma once
#include "otlp/exporter.h"
#include "server/config.h"
#include "store/store.h"

typedef struct forward forward;

/* Checks the configuration. Opens no connections, and no files except those of TLS. */
NODISCARD bool forward_check(const forward_config *c, err *e);

/* Starts the threads. A spool has a subdirectory for each signal. The texts of *c must outlive the
 * forwarder; the store must live until forward_stop. */
NODISCARD forward *forward_open(const forward_config *c, store *s, logger *log, err *e);

/* Sends as many requests as it can within the time and ends the threads. The next start sends the
 * rest. Accepts NULL. */
void forward_stop(forward *f, uint64_t timeout_ns);
void forward_close(forward *f); /* after forward_stop */

/* Notifies the forwarder that a request was acknowledged. Callable from any thread, also after
 * forward_stop. */
void forward_wake(forward *f);

otlp_counts forward_counted(const forward *f, otlp_signal s); /* before forward_stop */

#define FORWARD_STATE(X)                                                                           \
    X(gauge, waiting_requests, "acknowledged requests that are not forwarded yet")                 \
    X(gauge, journal_bytes, "journal bytes retained for them after compaction")                    \
    X(counter, lost_requests, "acknowledged requests that were lost before they were forwarded")

typedef struct forward_state {
#define X(kind, name, what) uint64_t name;
    FORWARD_STATE(X)
#undef X
} forward_state;

forward_state forward_state_of(const forward *f);
