/* agent/signal/slot.h - memory in which a signalled thread stores its stack in a round.  Signal
 * room.
 *
 *     sampler                                handler, in the signalled thread
 *     FREE  -> ARMED  (signal sent)
 *                                            ARMED -> WRITING -> DONE
 *     DONE  -> FREE   (read)
 *     ARMED -> LATE   (timeout)              LATE  -> DONE, without a stack
 *
 * The signal carries the slot's number and a generation, which increases each time the slot is
 * armed.  A signal with another generation is foreign.  A slot that is ARMED or LATE is not armed
 * again, because its signal is still pending. */
#pragma once
#include "agent/signal/raw.h"

typedef enum slot_state { SLOT_FREE, SLOT_ARMED, SLOT_WRITING, SLOT_DONE, SLOT_LATE } slot_state;

enum { SLOT_STATE_BITS = 3, SLOT_NUMBER_BITS = 16, SLOTS_MAX = 1 << SLOT_NUMBER_BITS };

typedef struct slot {
    _Alignas(64) _Atomic uint64_t word; /* generation and state */
    uint32_t thread;                    /* the signalled thread: position in the table */
    unwind_stack stack;                 /* bounds of its stack */
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

/* Returns the value (si_value) of the signal. */
static inline uint64_t slot_ticket(uint32_t number, uint64_t generation)
{
    return generation << SLOT_NUMBER_BITS | number;
}

static inline uint32_t ticket_number(uint64_t t) { return t & (SLOTS_MAX - 1); }

/* Returns the generation, with the bits that both ticket and slot word store. */
static inline uint64_t ticket_generation(uint64_t t) { return t >> SLOT_NUMBER_BITS; }

/* Sampler: FREE or DONE becomes ARMED; returns the ticket for the signal. */
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

/* Sampler: called on timeout.  Returns false when the stack is written or being written. */
static inline bool slot_give_up(slot *s)
{
    uint64_t g = atomic_load_explicit(&s->word, memory_order_relaxed) >> SLOT_STATE_BITS;
    return slot_change(s, g, SLOT_ARMED, SLOT_LATE);
}

/* Sampler: called when the slot was read, or its thread has ended. */
static inline void slot_free(slot *s)
{
    uint64_t g = atomic_load_explicit(&s->word, memory_order_relaxed) >> SLOT_STATE_BITS;
    atomic_store_explicit(&s->word, slot_word(g, SLOT_FREE), memory_order_relaxed);
}

/* Handler: returns true when it has to store a stack and call slot_done.  Sets *ours to false for a
 * foreign signal. */
static inline bool slot_begin(slot *s, uint64_t ticket, bool *ours)
{
    uint64_t g = ticket_generation(ticket);
    if (slot_change(s, g, SLOT_ARMED, SLOT_WRITING)) return *ours = true;
    *ours = slot_change(s, g, SLOT_LATE, SLOT_DONE);
    return false;
}

static inline void slot_done(slot *s, uint64_t ticket)
{
    /* release: pairs with slot_state_of */
    atomic_store_explicit(&s->word, slot_word(ticket_generation(ticket), SLOT_DONE),
                          memory_order_release);
}
