/* store/keys.h - the keys of the newest profiles: has this one been put before?  Bounded: two generations, the older of which
 * goes when the younger is half of the bound.  Pure. */
#pragma once
#include "store/content.h"

typedef struct keys_generation {
    content_key *v; /* open addressing; {0, 0} is free */
    size_t n, mask;
} keys_generation;

typedef struct keys {
    keys_generation young, old;
    size_t max;    /* keys in both together; 0: no bound */
    uint64_t seed; /* random, so that nobody can make keys collide */
} keys;

bool keys_has(const keys *k, content_key key);
/* Adds what is not there; false: no memory. */
NODISCARD bool keys_add(keys *k, content_key key);
/* Who added the newest first says so at the end: the first generation becomes the young one. */
void keys_turn(keys *k);
void keys_remove(keys *k, content_key key);
void keys_free(keys *k);
