/* store/known.h - finds the number that an entry of an item's dictionary has in the file, by its
 * content. Pure.
 *
 * Every request has its own dictionary with its own numbers, and nearly all of its entries are in
 * the file already. A location is identified by the hash of its content, including the texts; a
 * stack by the hash of its locations' numbers in the file. Entries with the same 96 bits of XXH128
 * (with a secret seed) count as equal, so that a known entry costs one lookup and no access to the
 * file's texts. The builder adds new entries and compares them by value. An entry that was evicted
 * counts as new.
 *
 *   known_hash     hashes the item's tables in one pass; independent of the file, in any thread
 *   known_begin    finds the locations and stacks that the file has
 *   known_stack    returns the number of a stack in the file; adds new entries to the file */
#pragma once
#include "base/hash.h"
#include "model/importer.h"

typedef struct known_slot {
    uint64_t low;
    uint32_t high, at; /* number in the file + 1; 0: free */
} known_slot;

/* One hash for each location of an item: the hash of its content. */
typedef XXH128_hash_t known_hashes;

/* Open addressing, at most 4 MiB, load below 3/4. */
typedef struct known_table {
    known_slot *v;
    size_t n, mask;
} known_table;

typedef struct known {
    uint64_t seed; /* random */
    known_table locations, stacks;
    /* for the current item */
    importer g;
    const known_hashes *location; /* by location */
    u32s frames;
} known;

void known_free(known *k);
/* Returns the hashes, in the arena; NULL when out of memory. `seed` is that of the `known` that
 * will use them. */
NODISCARD const known_hashes *known_hash(uint64_t seed, const model *m, arena *a);
/* Begins an item: known_stack will add its new entries to `to`. `h` are the item's hashes. Memory
 * comes from `scratch`, which must live until the next item. Returns false when out of memory. */
NODISCARD bool known_begin(known *k, builder *to, const model *m, const known_hashes *h,
                           arena *scratch);
/* Returns the number of the item's stack i in the file. Returns 0 and sets to->failed when out of
 * memory. */
uint32_t known_stack(known *k, uint32_t i);
