/* base/arena.h - memory with one owner, one end and a budget.
 *
 * Allocations live until arena_reset() or arena_free().  The zero value is an empty arena.
 * The budget counts allocated bytes with their alignment, so that a message of 40 bytes that
 * claims 4 GiB fails before memory is touched.  One thread at a time may use an arena.
 * `seed` is the seed of the hash tables that live in the arena (base/hash.h).
 *
 *   block:  [header | first piece | second piece | ... free ...]     blocks: newest first
 *   A piece of ARENA_LARGE or more has a block of its own (base/large.h): growing it is realloc
 *   (on Linux mremap: pages move, bytes do not). */
#pragma once
#include "base/err.h"

enum { ARENA_LARGE = 64 * 1024, ARENA_BLOCK_MIN = 4096, ARENA_ALIGN = 16 };

typedef struct arena_block arena_block;

typedef struct arena {
    size_t budget;      /* bytes that may be allocated; 0: no budget */
    uint64_t seed;      /* random in programs, so that attackers cannot make keys collide */
    size_t used;        /* bytes allocated since the last reset */
    size_t peak;        /* largest `used` so far */
    size_t n_mallocs;   /* calls of malloc and realloc so far, for benchmarks */
    arena_block *cur;   /* the block for small pieces */
    arena_block *live;  /* blocks in use, newest first (cur is among them) */
    arena_block *spare; /* blocks that arena_reset keeps for reuse */
    struct arena *of;   /* parent: allocations count in its budget too; may be NULL */
    size_t lent;        /* bytes that scratch arenas (arena_beside) use of this budget */
} arena;

/* Returns an empty arena for scratch memory, with the same seed. Its allocations count in the
 * budgets of both. The caller frees it before `a`, in the same thread. */
static inline arena arena_beside(arena *a)
{
    return (arena){.budget = a->budget, .seed = a->seed, .of = a};
}

/* Returns n bytes, ARENA_ALIGN-aligned, not zeroed; NULL when the budget or the machine's memory is
 * used up. n = 0 returns a valid pointer. */
NODISCARD void *arena_alloc(arena *a, size_t n);

/* Grows p (old bytes, from this arena) to n bytes; in place or by realloc where possible. Returns
 * NULL without memory; p is then unchanged. */
NODISCARD void *arena_grow(arena *a, void *p, size_t old, size_t n);

/* Makes the next arena_alloc of up to n bytes in all come from one block.  A hint: returns
 * false only when the machine has no memory.  The allocations charge the budget, not this call. */
bool arena_reserve(arena *a, size_t n);

/* Returns the tail of the newest piece to the arena, e.g. when it was allocated for an upper bound. */
void arena_trim(arena *a, void *p, size_t old, size_t n);

/* Frees all pieces but keeps the blocks, so that the next use of the same size does not allocate. */
void arena_reset(arena *a);
void arena_free(arena *a);

NODISCARD void *arena_zero(arena *a, size_t n);
NODISCARD void *arena_array(arena *a, size_t n, size_t size); /* checked product, not zeroed */
NODISCARD void *arena_array_zero(arena *a, size_t n, size_t size);

/* Sets ERR_MEMORY, with the budget if there is one. Returns false. */
bool arena_spent(const arena *a, err *e);

#define arena_new(a, type, n) ((type *)arena_array_zero((a), (n), sizeof(type)))
