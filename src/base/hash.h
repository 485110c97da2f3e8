/* base/hash.h - XXH3 and the open-addressing index that sits beside an array.
 *
 * An index owns no keys: slot[] holds position + 1 in somebody's array, 0 is free.  The array is the
 * truth and the order; the index can be dropped and rebuilt.  Load stays under 3/4.
 *
 * Hashes of keys begin with the seed, and nothing that anybody sees depends on it: order comes from the
 * array, never from the slots. */
#pragma once
#include "base/arena.h"
#include "base/str.h"
#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Warray-bounds" /* gcc 12, where the length is a constant */
#include <xxhash.h>
#pragma GCC diagnostic pop

static inline uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p ? p : "", n, seed);
}

/* Mixes one word into h (the finalizer of splitmix64). */
static inline uint64_t hash_mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) + 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

typedef struct hash_slot {
    uint32_t hash; /* high half of the key's hash: most misses never touch the array */
    uint32_t at;   /* position + 1; 0 = free */
} hash_slot;

typedef struct hash_index {
    hash_slot *slot;
    uint32_t mask; /* slots - 1 */
    uint32_t n;    /* used */
    uint64_t seed; /* the arena's, from the first hash_index_room on */
} hash_index;

/* Room for one more entry; false at the budget.  Comes before the first hash, which wants the seed. */
NODISCARD bool hash_index_room(hash_index *x, arena *a);

/* How to look up or add the entry of hash h:
 *     uint64_t h = hash_bytes(key.p, key.n, x->seed);
 *     uint32_t i = hash_first(x, h);
 *     for (uint32_t at; hash_next(x, &i, h, &at); i++)
 *         if (array[at] is the one) return at;
 *     hash_put(x, i, h, position of the new one);         the walk ended on its free slot */
static inline uint32_t hash_first(const hash_index *x, uint64_t h)
{
    return (uint32_t)(h >> 32) & x->mask;
}

static inline bool hash_next(const hash_index *x, uint32_t *i, uint64_t h, uint32_t *at)
{
    for (;; ++*i) {
        *i &= x->mask;
        hash_slot s = x->slot[*i];
        if (!s.at) return false;
        if (s.hash == (uint32_t)(h >> 32)) {
            *at = s.at - 1;
            return true;
        }
    }
}

static inline void hash_put(hash_index *x, uint32_t i, uint64_t h, uint32_t position)
{
    x->slot[i] = (hash_slot){(uint32_t)(h >> 32), position + 1};
    x->n++;
}
