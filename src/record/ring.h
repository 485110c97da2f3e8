/* record/ring.h - the memory that the kernel shares with the reader of perf events: one ring per
 * CPU.
 *
 * Each pass reads the same records twice: first the records about processes (mappings, names,
 * births), then the samples, because a mapping on one CPU may belong to a sample on another:
 *
 *     ring_begin(r);
 *     while (ring_next(r, &rec)) ...       records about processes
 *     ring_rewind(r);
 *     while (ring_next(r, &rec)) ...       samples
 *     ring_end(r);                         frees the space */
#pragma once
#include "base/compiler.h"
#include "base/err.h"
#include <linux/perf_event.h>

typedef struct ring {
    int fd; /* the event that owns the ring; -1: none */
    struct perf_event_mmap_page *page;
    uint8_t *data;
    size_t size;             /* of data: a power of two */
    uint64_t tail, at, head; /* positions in the current pass */
    uint8_t *whole;          /* copy of a record that wraps around the end */
    bool bad;                /* a record has an impossible size: the rest of the pass is skipped */
} ring;

/* A record, aligned to 8 bytes and valid until the next call. */
typedef struct ring_record {
    uint32_t type;
    uint16_t misc;
    const uint8_t *body;
    size_t n;
} ring_record;

/* Maps the ring of an event, with the largest of the sizes bytes, bytes / 2, ... that the kernel
 * permits, but at least `least`.  Takes ownership of fd.  Returns false and closes fd on failure. */
NODISCARD bool ring_open(ring *r, int fd, size_t bytes, size_t least, err *e);
void ring_close(ring *r);

void ring_begin(ring *r);
NODISCARD bool ring_next(ring *r, ring_record *out);
void ring_rewind(ring *r);
void ring_end(ring *r);
