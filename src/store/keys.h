/* store/keys.h - the keys of the newest profiles, to detect duplicates. The number of keys is
 * bounded by two generations: when the younger has half of the maximum, the older one is dropped.
 * Pure. */
#pragma once
#include "store/content.h"

typedef struct keys_generation {
    content_key *v; /* open addressing; {0, 0} is free */
    size_t n, mask;
} keys_generation;

typedef struct keys {
    keys_generation young, old;
    size_t max;    /* keys in both generations; 0: no limit */
    uint64_t seed; /* random, so that senders cannot force collisions */
} keys;

bool keys_has(const keys *k, content_key key);
/* Adds a key unless it is present. Returns false when out of memory. */
NODISCARD bool keys_add(keys *k, content_key key);
/* Makes the first generation the young one. Called after keys were added newest first. */
void keys_turn(keys *k);
void keys_remove(keys *k, content_key key);
void keys_free(keys *k);
