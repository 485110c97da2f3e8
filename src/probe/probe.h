/* probe/probe.h - between the parts of the probe: probe.c has its life, maps.c the mappings, farewell.c the end. */
#pragma once
#include "agent/capture.h"
#include "agent/heap/link.h"
#include "probe/segment.h"

typedef struct probe {
    segment segment;
    desk *desk;
    uint64_t word; /* of the desk while it is ours */
    capture_outlet outlet;
    const heap_for_agent *heap; /* NULL: no heap profile */
    uint32_t pid;               /* whose probe this is; 0: off */
    _Atomic bool gone;          /* the farewell was said */
    uint64_t unsampled;         /* by the farewell: CPU time of threads without a sample */
    uint32_t n_unsampled;       /* threads */
    _Atomic uint64_t heap_next; /* CLOCK_MONOTONIC: the heap's totals are delivered again */
    _Atomic uint32_t heap_rounds;
} probe;

extern probe the_probe;

/* Executable mappings of all objects that the loader has, to the desk. */
void maps_write(desk *d);
/* Those of the process that forked this one, unless its desk (`word`) was given up meanwhile: the collector looks in
 * /proc then. */
void maps_copy(desk *d, const desk *parent, uint64_t word);

/* Remainders of CPU time, totals of the heap, counters: all that the collector cannot see by itself.  Async-signal-safe. */
void farewell_say(probe *p);
/* Takes back what only the end makes true: the program goes on. */
void farewell_unsay(probe *p);
/* A thread ends.  Returns its CPU time if no sample has told of it, else 0. */
uint64_t farewell_thread(probe *p, const thread_face *t);
/* The totals of the heap; patient: waits for room in the ring, for a bounded time. */
void farewell_heap(probe *p, bool patient);
