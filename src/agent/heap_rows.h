/* agent/heap_rows.h - the totals of libkiln-heap.so as rows of one flush. */
#pragma once
#include "agent/heap/link.h"
#include "base/hash.h"
#include "base/vec.h"

typedef struct heap_row {
    const uintptr_t *pcs; /* leaf first; owned by the heap library */
    uint16_t n;
    uint8_t end;                        /* unwind_end */
    int64_t alloc_objects, alloc_space; /* since the previous flush */
    int64_t inuse_objects, inuse_space; /* now */
} heap_row;

typedef struct heap_rows {
    VEC(heap_row) v;
    uint64_t interval; /* bytes between two samples, on average */
} heap_rows;

typedef struct heap_seen {
    uint64_t key;
    int64_t objects, space;
} heap_seen;

/* The totals at the previous flush, by stack. */
typedef struct heap_past {
    arena a;
    VEC(heap_seen) v;
    hash_index index;
} heap_past;

/* Stores all stacks with allocations since the previous flush or with memory in use, in `a`.
 * Returns false when out of memory. */
NODISCARD bool heap_take(heap_past *past, const heap_for_agent *h, arena *a, heap_rows *out);
void heap_forget(heap_past *past);
