/* agent/signal/slot.h - where a thread that is asked for its stack puts it.  Signal room.
 *
 *     sampler                                handler, in the thread that was asked
 *     FREE  -> ARMED  (signal sent)
 *                                            ARMED -> WRITING -> DONE
 *     DONE  -> FREE   (read)
 *     ARMED -> LATE   (time is over)         LATE  -> DONE, writing nothing
 *
 * The signal carries the slot's number and a generation, which grows each time it is armed: a signal
 * that is not for this slot now is not ours.  A slot that is ARMED or LATE is not armed again: its signal
 * is still under way. */
#pragma once
#include "agent/signal/raw.h"

typedef enum slot_state { SLOT_FREE, SLOT_ARMED, SLOT_WRITING, SLOT_DONE, SLOT_LATE } slot_state;

enum { SLOT_STATE_BITS = 3, SLOT_NUMBER_BITS = 16, SLOTS_MAX = 1 << SLOT_NUMBER_BITS };

typedef struct slot {
    _Alignas(64) _Atomic uint64_t word; /* generation, state */
    uint32_t thread;                    /* who was asked: position in the table */
    unwind_stack stack;                 /* of that thread */
    raw_sample raw;                     /* last: its frames follow */
} slot;

static inline size_t slot_bytes(uint32_t max_frames)
{
    return (offsetof(slot, raw) + raw_bytes(max_frames) + 63) & ~(size_t)63;
}

static inline uint64_t slot_word(uint64_t generation, slot_state s)
{
    return generation << SLOT_STATE_BITS | s;
}

static inline slot_state slot_state_of(const slot *s)
{
    return atomic_load_explicit(&s->word, memory_order_acquire) & ((1 << SLOT_STATE_BITS) - 1);
}

/* What the signal carries. */
static inline uint64_t slot_ticket(uint32_t number, uint64_t generation)
{
    return generation << SLOT_NUMBER_BITS | number;
}

static inline uint32_t ticket_number(uint64_t t) { return t & (SLOTS_MAX - 1); }

/* The generation as far as both words keep it. */
static inline uint64_t ticket_generation(uint64_t t) { return t >> SLOT_NUMBER_BITS; }

/* Sampler: FREE or DONE becomes ARMED; the ticket for the signal. */
static inline uint64_t slot_arm(slot *s, uint32_t number)
{
    uint64_t g = (atomic_load_explicit(&s->word, memory_order_relaxed) >> SLOT_STATE_BITS) + 1;
    g &= UINT64_MAX >> SLOT_NUMBER_BITS;
    atomic_store_explicit(&s->word, slot_word(g, SLOT_ARMED), memory_order_release);
    return slot_ticket(number, g);
}

static inline bool slot_change(slot *s, uint64_t generation, slot_state from, slot_state to)
{
    uint64_t word = slot_word(generation, from);
    return atomic_compare_exchange_strong(&s->word, &word, slot_word(generation, to));
}

/* Sampler: time is over.  false: the answer came, or is being written. */
static inline bool slot_give_up(slot *s)
{
    uint64_t g = atomic_load_explicit(&s->word, memory_order_relaxed) >> SLOT_STATE_BITS;
    return slot_change(s, g, SLOT_ARMED, SLOT_LATE);
}

/* Sampler: read, or nobody will come any more. */
static inline void slot_free(slot *s)
{
    uint64_t g = atomic_load_explicit(&s->word, memory_order_relaxed) >> SLOT_STATE_BITS;
    atomic_store_explicit(&s->word, slot_word(g, SLOT_FREE), memory_order_relaxed);
}

/* Handler: true when the stack is wanted, which slot_answered ends. */
static inline bool slot_begin(slot *s, uint64_t ticket, bool *ours)
{
    uint64_t g = ticket_generation(ticket);
    if (slot_change(s, g, SLOT_ARMED, SLOT_WRITING)) return *ours = true;
    *ours = slot_change(s, g, SLOT_LATE, SLOT_DONE);
    return false;
}

static inline void slot_answered(slot *s, uint64_t ticket)
{
    /* release: pairs with slot_state_of */
    atomic_store_explicit(&s->word, slot_word(ticket_generation(ticket), SLOT_DONE),
                          memory_order_release);
}
