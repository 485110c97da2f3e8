/* base/hash.h - XXH3, and an open-addressing hash index over an array.
 *
 * An index owns no keys: slot[] holds positions in the caller's array plus 1; 0 marks a free slot.
 * The array defines contents and order; the index can be dropped and rebuilt. Load stays under 3/4.
 *
 * Hashes start with the seed. No output depends on it: order comes from the array, never from the
 * slots. */
#pragma once
#include "base/arena.h"
#include "base/str.h"
#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Warray-bounds" /* false alarm of gcc 12 */
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
    uint32_t hash; /* high half of the key's hash: avoids most comparisons of keys */
    uint32_t at;   /* position + 1; 0 = free */
} hash_slot;

typedef struct hash_index {
    hash_slot *slot;
    uint32_t mask; /* slots - 1 */
    uint32_t n;    /* used slots */
    uint64_t seed; /* seed of the arena; set by the first hash_index_room */
} hash_index;

/* Makes room for one more entry. Returns false when memory runs out. Call it before the first hash,
 * because it sets the seed. */
NODISCARD bool hash_index_room(hash_index *x, arena *a);

/* How to look up or add the entry of hash h:
 *     uint64_t h = hash_bytes(key.p, key.n, x->seed);
 *     uint32_t i = hash_first(x, h);
 *     for (uint32_t at; hash_next(x, &i, h, &at); i++)
 *         if (array[at] has this key) return at;
 *     hash_put(x, i, h, position of the new one);         the loop ended at a free slot */
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
