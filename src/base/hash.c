/* Growth of the open-addressing index.  Lookups are inline in the header. */
#include "base/hash.h"

#include "base/ban.h"

bool hash_index_room(hash_index *x, arena *a)
{
    size_t slots = x->slot ? (size_t)x->mask + 1 : 0;
    if (((size_t)x->n + 1) * 4 <= slots * 3) return true;
    size_t more = slots ? slots * 2 : 16;
    if (more > UINT32_MAX / 2) return false;
    hash_slot *old = x->slot, *slot = arena_new(a, hash_slot, more);
    if (!slot) return false;
    uint32_t mask = (uint32_t)(more - 1);
    for (size_t i = 0; i < slots; i++) {
        if (!old[i].at) continue;
        uint32_t j = old[i].hash & mask;
        while (slot[j].at) j = (j + 1) & mask;
        slot[j] = old[i];
    }
    if (!old) x->seed = a->seed;
    x->slot = slot;
    x->mask = mask;
    return true;
}
