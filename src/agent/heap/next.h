/* agent/heap/next.h - the next allocator: the one that the program would call without this library.
 *
 * It is looked up at the first call, which may come before any constructor.  Allocations during the
 * lookup itself (dlsym may allocate) come from a small static store.  Such blocks are marked in the
 * filter of live blocks, so that only the slow paths have to recognize them. */
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

/* Initially functions that look up the next allocator and replace themselves with it. */
extern next_allocator next;

/* Returns the number of bytes from `p` to the end of the static store; 0 when p is not in it. */
size_t next_own(const void *p);
