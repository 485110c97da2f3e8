/* agent/heap/next.h - the allocator behind ours: whatever would have been called without us.
 *
 * It is looked up at the first call, which may come before any constructor.  What is asked for while the lookup
 * itself runs (dlsym may allocate) comes from a small store of our own; such blocks are marked in the filter
 * of live blocks, so that only the slow ways out have to know them. */
#pragma once
#include "base/compiler.h"

typedef struct next_allocator {
    void *(*malloc)(size_t n);
    void (*free)(void *p);
    void *(*calloc)(size_t n, size_t size);
    void *(*realloc)(void *p, size_t n);
    int (*posix_memalign)(void **p, size_t align, size_t n);
    void *(*aligned_alloc)(size_t align, size_t n);
    void *(*memalign)(size_t align, size_t n);
    void *(*valloc)(size_t n);
    void *(*pvalloc)(size_t n);
} next_allocator;

/* Changes once, from functions that look up to those that were found. */
extern next_allocator next;

/* Bytes from `p` to the end of our own store; 0: it is not from there. */
size_t next_own(const void *p);
