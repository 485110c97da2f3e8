/* base/arena.h - memory with one owner, one end and a budget.
 *
 * Everything taken from an arena lives until arena_reset() or arena_free().  The zero value works.
 * The budget counts bytes handed out (with their alignment), so that a message of 40 bytes that
 * claims 4 GiB is refused before anything is touched.  An arena has one thread at a time.
 * The seed is that of the hash tables that lie here (base/hash.h).
 *
 *   block:  [header | first piece | second piece | ... free ...]     blocks: newest first
 *   A piece of ARENA_LARGE or more has a block of its own (base/large.h): growing it is realloc
 *   (on Linux mremap: pages move, bytes do not). */
#pragma once
#include "base/compiler.h"

enum { ARENA_LARGE = 64 * 1024, ARENA_BLOCK_MIN = 4096, ARENA_ALIGN = 16 };

typedef struct arena_block arena_block;

typedef struct arena {
    size_t budget;      /* bytes that may be handed out; 0 = no budget */
    uint64_t seed;      /* programs choose it at random, so that nobody can make keys collide */
    size_t used;        /* bytes handed out since the last reset */
    size_t peak;        /* largest `used` so far */
    size_t n_mallocs;   /* calls of malloc and realloc so far: benchmarks show it */
    arena_block *cur;   /* small pieces come from here */
    arena_block *live;  /* blocks in use, newest first (cur is among them) */
    arena_block *spare; /* blocks kept by arena_reset */
    struct arena *of;   /* the one that this lies beside; may be NULL */
    size_t lent;        /* bytes of this budget that arenas beside this one handed out */
} arena;

/* An empty arena beside this one, for scratch: the same seed, and what it hands out counts in the budget of both.  It is freed before
 * `a` goes and belongs to the same thread. */
static inline arena arena_beside(arena *a)
{
    return (arena){.budget = a->budget, .seed = a->seed, .of = a};
}

/* n bytes, ARENA_ALIGN-aligned, not zeroed; NULL when the budget or the machine says no.
 * n = 0 gives a valid pointer of no bytes. */
NODISCARD void *arena_alloc(arena *a, size_t n);

/* Grows p (old bytes, from this arena) to n bytes; in place or by realloc where it can.  NULL
 * leaves p as it was. */
NODISCARD void *arena_grow(arena *a, void *p, size_t old, size_t n);

/* Makes the next arena_alloc of up to n bytes in all come from one block.  A hint: false only
 * when the machine has no memory; the budget is charged when pieces are handed out. */
bool arena_reserve(arena *a, size_t n);

/* Gives the tail of the newest piece back, e.g. when an upper bound was reserved for it. */
void arena_trim(arena *a, void *p, size_t old, size_t n);

/* Forgets all pieces, keeps the blocks: the next use of the same size allocates nothing. */
void arena_reset(arena *a);
void arena_free(arena *a);

NODISCARD void *arena_zero(arena *a, size_t n);
NODISCARD void *arena_array(arena *a, size_t n, size_t size); /* checked product, not zeroed */
NODISCARD void *arena_array_zero(arena *a, size_t n, size_t size);

#define arena_new(a, type, n) ((type *)arena_array_zero((a), (n), sizeof(type)))
