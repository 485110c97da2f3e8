/* otlp/exporter.h - a sender with its own thread and queue, for programs and for the agent inside a
 * host process.
 *
 * exporter_submit never blocks and does no I/O.  Memory is bounded by max_queue bytes.  With a
 * spool, batches go to disk when memory is half full; batches that fit neither are dropped.  Losses
 * are counted (otlp/counters.h) and logged once for each outage.  See docs/exporter.md.
 *
 * After fork() the child has the memory but not the thread.  It must call only exporter_forked
 * (another thread may have held the lock) and open its own exporter. */
#pragma once
#include "otlp/sender.h"

typedef struct exporter exporter;

#define EXPORTER_MAX_QUEUE ((size_t)64 << 20)

typedef struct exporter_opts {
    /* The caller leaves `counters` and `spool` empty.  `config` must outlive the exporter.
     * Callbacks run in the exporter's thread. */
    sender_opts sender;
    const char *spool_dir; /* NULL: no spool */
    uint64_t spool_max;    /* bytes; 0: SPOOL_MAX_BYTES */
    /* Bytes in memory above which batches are written to the spool; 0: half of max_queue. */
    size_t spill_at;
    size_t max_queue;   /* bytes in memory, including requests in flight; 0: EXPORTER_MAX_QUEUE */
    const world *world; /* NULL: the real system */
    void (*thread)(void *ctx); /* the thread calls it first; may be NULL */
} exporter_opts;

/* Starts the thread with all signals blocked. */
NODISCARD exporter *exporter_open(const exporter_opts *o, err *e);

/* Queues a batch and takes ownership of *bytes.  Returns false when the queue is full or closing;
 * then *bytes is unchanged and the items are counted as dropped. */
NODISCARD bool exporter_submit(exporter *x, buf *bytes, size_t items, uint64_t cookie);

/* Waits until all submitted batches are settled or, with a spool, until the remaining ones wait for
 * an unreachable receiver.  Returns false on timeout. */
bool exporter_flush(exporter *x, uint64_t timeout_ns);

otlp_counts exporter_counts(const exporter *x);

/* Sends what it can until the timeout, spools or drops the rest, and ends the thread.  Returns
 * false soon after the timeout if the thread is stuck (name lookup, disk).  The thread then frees
 * everything later, so the config must stay valid. counts may be NULL. */
bool exporter_close(exporter *x, uint64_t timeout_ns, otlp_counts *counts);

/* Call it in the child of a fork instead of exporter_close.  Closes the connection and the spool's
 * lock, which the child would otherwise hold.  Frees no memory. */
void exporter_forked(exporter *x);
