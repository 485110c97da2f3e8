/* otlp/exporter.h - the sender with a thread and a queue of its own, for programs and for the agent inside a
 * stranger's process.
 *
 * Handing in never waits and never does I/O.  Memory is bounded by max_queue bytes, whatever the receiver
 * does: memory first, with a spool the disk when memory is half full, and only what fits neither is dropped.  Everything that gets lost is counted (otlp/counters.h) and said once an outage.  docs/exporter.md.
 *
 * A child of fork() has the memory and not the thread: it calls exporter_forked and nothing else (not even close:
 * another thread may have held the lock), and opens its own. */
#pragma once
#include "otlp/sender.h"

typedef struct exporter exporter;

#define EXPORTER_MAX_QUEUE ((size_t)64 << 20)

typedef struct exporter_opts {
    sender_opts sender; /* `counters`, `spool` are the exporter's: leave them empty.  `config` must
                                   outlive the exporter; settled and say are called in its thread */
    const char *spool_dir; /* NULL: no spool */
    uint64_t spool_max;    /* bytes; 0: SPOOL_MAX_BYTES */
    size_t
        spill_at; /* bytes in memory from which on the spool takes what waits; 0: half of max_queue */
    size_t max_queue;   /* bytes in memory, the batch under way included; 0: EXPORTER_MAX_QUEUE */
    const world *world; /* NULL: the machine's own */
    void (*thread)(
        void *who); /* first thing in the thread, for its own list of threads; may be NULL */
} exporter_opts;

/* Starts the thread, all signals blocked in it.  ERR_SYS and others: nothing was started. */
NODISCARD exporter *exporter_open(const exporter_opts *o, err *e);

/* Takes *bytes over and empties it.  false: the queue is full or being closed, *bytes untouched, counted. */
NODISCARD bool exporter_submit(exporter *x, buf *bytes, size_t items, uint64_t cookie);

/* Waits until all that was handed in is settled, or a receiver that is down is all there is to wait for
 * (only with a spool); at most so long.  false: the time was not enough. */
bool exporter_flush(exporter *x, uint64_t timeout_ns);

otlp_counts exporter_counts(const exporter *x);

/* Sends what can be sent within the time, puts the rest away, ends the thread.  Returns within the time and
 * a moment more: a thread that is stuck (a name server, a dead disk) is left behind and frees all when it
 * comes back: false, and the config has to stay.  *counts may be NULL. */
bool exporter_close(exporter *x, uint64_t timeout_ns, otlp_counts *counts);

/* In the child, instead of exporter_close, if the thread shared its table of descriptors with the program: lets go of the connection and of the spool's lock, which would otherwise
 * be held until the child ends.  The memory stays. */
void exporter_forked(exporter *x);
