/* store/embedded_ahead.h - decodes items of the journal ahead of the one that is being added.
 *
 * One thread reads the journal in order and adds items in order. Decoding and hashing in between do
 * not depend on the order, so workers do them. An item that is too large for its slot, or cannot be
 * decoded, is passed to `take` undecoded. */
#pragma once
#include "store/workers.h"
#include "store/item.h"
#include "store/known.h"

/* The next item, in order. `m` and `hashes` are NULL when it was not decoded ahead. */
typedef struct ahead_item {
    uint64_t seq;
    str bytes;
    const model *m;
    const known_hashes *hashes;
} ahead_item;

typedef bool ahead_take(void *ctx, const ahead_item *i, err *e);

typedef struct ahead ahead;

/* `memory` is the limit for all decoded items; `take` receives the items, in order. Returns NULL
 * when out of memory. */
NODISCARD ahead *ahead_open(workers *c, size_t memory, uint64_t seed, ahead_take *take, void *ctx);
void ahead_close(ahead *a);

/* Adds an item, whose bytes need not live longer than the call. Passes older items to `take` to
 * free a slot. Returns false when `take` failed. */
NODISCARD bool ahead_put(ahead *a, uint64_t seq, str bytes, err *e);
/* Passes the remaining items to `take`. */
NODISCARD bool ahead_drain(ahead *a, err *e);
