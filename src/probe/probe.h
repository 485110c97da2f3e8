/* probe/probe.h - shared by the parts of the probe: probe.c (constructor to exit), maps.c
 * (mappings), exit_notice.c (last counters). */
#pragma once
#include "agent/capture.h"
#include "agent/heap/link.h"
#include "probe/segment.h"

typedef struct probe {
    segment segment;
    proc_slot *proc_slot;
    uint64_t word; /* word of the process slot while this process owns it */
    capture_sink sink;
    const heap_for_agent *heap; /* NULL: no heap profile */
    uint32_t pid;               /* process that this probe belongs to; 0: off */
    _Atomic bool gone;          /* the exit notice was sent */
    uint64_t unsampled;         /* in the exit notice: CPU time of threads without a sample */
    uint32_t n_unsampled;       /* number of these threads */
    _Atomic uint64_t heap_next; /* CLOCK_MONOTONIC time of the next delivery of the heap totals */
    _Atomic uint32_t heap_rounds;
} probe;

extern probe the_probe;

/* Writes the executable mappings of all loaded objects to the process slot. */
void maps_write(proc_slot *d);
/* Copies the mappings of the process that forked this one.  If that process has left its process
 * slot (`word`) in the meantime, copies nothing, and the collector reads /proc. */
void maps_copy(proc_slot *d, const proc_slot *parent, uint64_t word);

/* Sends the data that the collector cannot find out itself: remaining CPU time, totals of the heap,
 * counters.  Async-signal-safe. */
void exit_notice_send(probe *p);
/* Called when the program continues: withdraws the parts that are true only at the end. */
void exit_notice_withdraw(probe *p);
/* Called when a thread ends.  Returns its CPU time if it has no sample, else 0. */
uint64_t exit_notice_thread(probe *p, const thread_public *t);
/* Sends the totals of the heap.  `patient`: waits for space in the ring for a limited time. */
void exit_notice_heap(probe *p, bool patient);
