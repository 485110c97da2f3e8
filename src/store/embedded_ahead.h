/* store/embedded_ahead.h - items of the journal that are decoded ahead of the one that is being added.
 *
 * The journal is read in order and items are added in order, by one thread.  What lies between, decoding and hashing, needs
 * neither: a crew does it.  An item that is too large for its place here, or cannot be decoded, is handed over as it is. */
#pragma once
#include "store/crew.h"
#include "store/item.h"
#include "store/known.h"

/* An item in its turn.  `m` and `hashes` are NULL where nothing was decoded ahead. */
typedef struct ahead_item {
    uint64_t seq;
    str bytes;
    const model *m;
    const known_hashes *hashes;
} ahead_item;

typedef bool ahead_take(void *who, const ahead_item *i, err *e);

typedef struct ahead ahead;

/* `memory` is for all that is ahead; `take` gets the items, in their order.  NULL: no memory. */
NODISCARD ahead *ahead_open(crew *c, size_t memory, uint64_t seed, ahead_take *take, void *who);
void ahead_close(ahead *a);

/* The next item, whose bytes may go after the call.  Hands older ones over to make room.  false: taking one failed. */
NODISCARD bool ahead_put(ahead *a, uint64_t seq, str bytes, err *e);
/* Hands over what is left. */
NODISCARD bool ahead_drain(ahead *a, err *e);
