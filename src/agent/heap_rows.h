/* agent/heap_rows.h - what libkiln-heap.so counted, between two flushes. */
#pragma once
#include "agent/heap/link.h"
#include "base/hash.h"
#include "base/vec.h"

typedef struct heap_row {
    const uintptr_t *pcs; /* leaf first; the heap object's */
    uint16_t n;
    uint8_t end;                        /* unwind_end */
    int64_t alloc_objects, alloc_space; /* since the last time */
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

/* What was there at the last flush, by stack. */
typedef struct heap_past {
    arena a;
    VEC(heap_seen) v;
    hash_index index;
} heap_past;

/* All stacks that were allocated at since the last time, or have something in use.  false: no memory. */
NODISCARD bool heap_take(heap_past *past, const heap_for_agent *h, arena *a, heap_rows *out);
void heap_forget(heap_past *past);
