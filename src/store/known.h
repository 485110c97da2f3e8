/* store/known.h - which number an entry of an item's dictionary has in the file, found by its content.  Pure.
 *
 * Every request brings its dictionary along, numbered as it likes, and nearly all of it is in the file already.  A location is
 * known by the hash of all that it says, down to the texts; a stack by the hash of its locations' numbers in the file.  96 bits
 * of XXH128 with a secret seed decide, so a known entry costs one look and none of the file's texts is touched; a new one
 * goes through the builder, which compares by value.  What was forgotten because there was much of it is new once more.
 *
 *   known_hash     hashes the item's tables in one pass; needs nothing of the file, so any thread may do it
 *   known_begin    finds the locations and stacks that the file has
 *   known_stack    the number of a stack in the file; what is new in it becomes part of the file */
#pragma once
#include "base/hash.h"
#include "model/graft.h"

typedef struct known_slot {
    uint64_t low;
    uint32_t high, at; /* number in the file + 1; 0: free */
} known_slot;

/* By location of an item: the hash of all that it says. */
typedef XXH128_hash_t known_hashes;

/* Open addressing, at most 4 MiB; load stays under 3/4. */
typedef struct known_table {
    known_slot *v;
    size_t n, mask;
} known_table;

typedef struct known {
    uint64_t seed; /* random */
    known_table locations, stacks;
    /* the item at hand */
    graft g;
    const known_hashes *location; /* of its locations */
    u32s frames;
} known;

void known_free(known *k);
/* In the arena; NULL: no memory.  The seed is that of the `known` they are for. */
NODISCARD const known_hashes *known_hash(uint64_t seed, const model *m, arena *a);
/* The item's dictionary goes to `to` from now on; maps are scratch's, until the next item; `h` are its hashes.  false: no memory. */
NODISCARD bool known_begin(known *k, builder *to, const model *m, const known_hashes *h,
                           arena *scratch);
/* 0 and to->failed: no memory. */
uint32_t known_stack(known *k, uint32_t i);
