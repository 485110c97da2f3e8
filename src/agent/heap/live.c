/* The table of live blocks: see live.h. */
#include "agent/heap/live.h"

#include "base/hash.h"

void live_open(live *t, void *memory)
{
    t->address = memory;
    t->value = (live_value *)((uintptr_t *)memory + LIVE_MAX);
    atomic_store_explicit(&t->levels, 1, memory_order_release);
}

/* The counters need no memory order, because the program itself orders accesses to one block: a
 * thread frees a block only after it has received the pointer. */
static void filter_change(live *t, uintptr_t address, int by)
{
    _Atomic uint8_t *counter = &t->filter[live_class(address)];
    uint8_t old = atomic_load_explicit(counter, memory_order_relaxed);
    while (old != LIVE_FILTER_FULL &&
           !atomic_compare_exchange_weak_explicit(counter, &old, (uint8_t)(old + by),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void live_mark(live *t, uintptr_t address)
{
    atomic_store_explicit(&t->filter[live_class(address)], LIVE_FILTER_FULL, memory_order_relaxed);
}

static uint32_t slots_of(uint32_t level) { return (uint32_t)LIVE_FIRST << 2 * level; }
static uint32_t first_of(uint32_t level) { return (slots_of(level) - LIVE_FIRST) / 3; }

/* Returns the first slot of the bucket for `address`. */
static uint32_t bucket(uintptr_t address, uint32_t level, unsigned choice)
{
    uint64_t h = hash_mix(level, address >> 4);
    uint32_t buckets = slots_of(level) / LIVE_WAYS;
    return first_of(level) + (uint32_t)(choice ? h >> 32 : h) % buckets * LIVE_WAYS;
}

/* Replaces `from` in a bucket of the level with LIVE_BUSY; returns the slot, or LIVE_MAX if there
 * is none.  Alternates between both buckets, so that they fill evenly. */
static uint32_t claim(live *t, uintptr_t address, uint32_t level, uintptr_t from)
{
    const uint32_t first[] = {bucket(address, level, 0), bucket(address, level, 1)};
    for (uint32_t i = 0; i < 2 * LIVE_WAYS; i++) {
        uint32_t slot = first[i % 2] + i / 2;
        uintptr_t seen = atomic_load_explicit(&t->address[slot], memory_order_relaxed);
        /* acquire: pairs with the release by the previous owner of the slot */
        if (seen == from &&
            atomic_compare_exchange_strong_explicit(&t->address[slot], &seen, LIVE_BUSY,
                                                    memory_order_acquire, memory_order_relaxed))
            return slot;
    }
    return LIVE_MAX;
}

static void level_used(live *t, uint32_t level)
{
    uint32_t old = atomic_load_explicit(&t->levels, memory_order_relaxed);
    while (old <= level &&
           !atomic_compare_exchange_weak_explicit(&t->levels, &old, level + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

bool live_put(live *t, uintptr_t address, const live_value *v)
{
    filter_change(t, address, 1);
    for (uint32_t level = 0; level < LIVE_LEVELS; level++) {
        uint32_t slot = claim(t, address, level, 0);
        if (slot == LIVE_MAX) continue;
        level_used(t, level);
        t->value[slot] = *v;
        /* release: pairs with claim() */
        atomic_store_explicit(&t->address[slot], address, memory_order_release);
        return true;
    }
    filter_change(t, address, -1);
    return false;
}

bool live_take(live *t, uintptr_t address, live_value *v)
{
    if (address <= LIVE_BUSY) return false;
    uint32_t levels = atomic_load_explicit(&t->levels, memory_order_acquire);
    for (uint32_t level = 0; level < levels; level++) {
        uint32_t slot = claim(t, address, level, address);
        if (slot == LIVE_MAX) continue;
        *v = t->value[slot];
        /* release: pairs with claim(), after which the value is overwritten */
        atomic_store_explicit(&t->address[slot], 0, memory_order_release);
        filter_change(t, address, -1);
        return true;
    }
    return false;
}

void live_repair(live *t, void (*f)(void *ctx, const live_value *v), void *ctx)
{
    uint32_t levels = atomic_load_explicit(&t->levels, memory_order_acquire),
             slots = first_of(levels);
    for (uint32_t slot = 0; slot < slots; slot++) {
        uintptr_t address = atomic_load_explicit(&t->address[slot], memory_order_relaxed);
        if (address == LIVE_BUSY)
            atomic_store_explicit(&t->address[slot], 0, memory_order_relaxed);
        else if (address)
            f(ctx, &t->value[slot]);
    }
}
