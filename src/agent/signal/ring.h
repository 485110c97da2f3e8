/* agent/signal/ring.h - samples from handlers of any thread to the one who drains.  Signal room.
 *
 * Cells of one size in a circle; position p lies in cell p % n, in lap p / n.  Each cell has a turn, in
 * memory that begins as zeros, so that no page is touched before it is used:
 *
 *     2 lap      a writer of this lap may claim it (by moving tail from p to p + 1)
 *     2 lap + 1  written: the reader may take it, and hands it to the next lap with 2 lap + 2
 *
 * A writer that is preempted between claim and commit holds the reader up, nobody else.  Handlers mask
 * all signals, so a thread never claims twice at once.  Full: the writer gets NULL.
 *
 * The memory may be shared by processes (probe/segment.h).  One of them may be killed between claim and commit: the
 * cell names its writer, and the reader passes over the cell of a dead one (ring_skip).  A writer that was only
 * slow finds at its commit that its turn is over, and its record is lost. */
#pragma once
#include "base/compiler.h"
#include <stdatomic.h>

typedef struct ring_cell {
    _Alignas(64) _Atomic uint64_t turn;
    uint64_t position;        /* the writer's, between claim and commit */
    _Atomic uint32_t writer;  /* process that claimed it; 0: not said yet, or free */
    _Alignas(8) char bytes[]; /* a raw_sample */
} ring_cell;

typedef struct ring_ends {
    _Alignas(64) _Atomic uint64_t tail; /* next to claim */
    _Alignas(64) _Atomic uint64_t head; /* next to take; only the reader moves it */
} ring_ends;

typedef struct ring {
    char *cells;
    size_t cell_bytes; /* a multiple of 64 */
    uint32_t n;        /* cells: a power of two */
    ring_ends *ends;
} ring;

static inline ring_cell *ring_at(const ring *r, uint64_t p)
{
    return (ring_cell *)(void *)(r->cells + (size_t)(p & (r->n - 1u)) * r->cell_bytes);
}

/* The turn in which position p may be claimed. */
static inline uint64_t ring_lap(const ring *r, uint64_t p) { return p / r->n * 2; }

/* A cell of the caller's own until ring_commit; NULL: full. */
static inline ring_cell *ring_claim(ring *r)
{
    uint64_t p = atomic_load_explicit(&r->ends->tail, memory_order_relaxed);
    for (;;) {
        ring_cell *c = ring_at(r, p);
        /* acquire: pairs with ring_release, the reader is done with these bytes */
        uint64_t turn = atomic_load_explicit(&c->turn, memory_order_acquire);
        if (turn == ring_lap(r, p)) {
            if (atomic_compare_exchange_weak_explicit(&r->ends->tail, &p, p + 1,
                                                      memory_order_relaxed, memory_order_relaxed)) {
                c->position = p;
                return c;
            }
        } else if ((int64_t)(turn - ring_lap(r, p)) < 0) {
            return NULL; /* still of the lap before */
        } else {
            p = atomic_load_explicit(&r->ends->tail, memory_order_relaxed);
        }
    }
}

/* true: with this one the ring is half full, and the reader should be told. */
static inline bool ring_commit(ring *r, ring_cell *c)
{
    uint64_t p = c->position, mine = ring_lap(r, p);
    /* release: pairs with ring_peek.  It fails when the reader has passed over the cell. */
    if (!atomic_compare_exchange_strong_explicit(&c->turn, &mine, mine + 1, memory_order_release,
                                                 memory_order_relaxed))
        return false;
    return p + 1 - atomic_load_explicit(&r->ends->head, memory_order_relaxed) == r->n / 2;
}

/* The oldest cell, if it is written. */
static inline ring_cell *ring_peek(const ring *r)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed);
    ring_cell *c = ring_at(r, p);
    uint64_t turn = atomic_load_explicit(&c->turn, memory_order_acquire);
    return turn == ring_lap(r, p) + 1 ? c : NULL;
}

/* The oldest cell, if it is claimed and not written; *writer: by whom, 0 when that is not known yet. */
static inline ring_cell *ring_pending(const ring *r, uint32_t *writer)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed);
    ring_cell *c = ring_at(r, p);
    if (atomic_load_explicit(&r->ends->tail, memory_order_relaxed) == p) return NULL;
    if (atomic_load_explicit(&c->turn, memory_order_acquire) != ring_lap(r, p)) return NULL;
    *writer = atomic_load_explicit(&c->writer, memory_order_relaxed);
    return c;
}

/* Gives the cell of ring_peek back. */
static inline void ring_release(ring *r, ring_cell *c)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed);
    atomic_store_explicit(&c->writer, 0, memory_order_relaxed);
    atomic_store_explicit(&c->turn, ring_lap(r, p) + 2, memory_order_release);
    atomic_store_explicit(&r->ends->head, p + 1, memory_order_relaxed);
}

/* Passes over the cell of ring_pending.  false: its writer has committed it meanwhile. */
static inline bool ring_skip(ring *r, ring_cell *c)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed), mine = ring_lap(r, p);
    atomic_store_explicit(&c->writer, 0, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&c->turn, &mine, mine + 2)) return false;
    atomic_store_explicit(&r->ends->head, p + 1, memory_order_relaxed);
    return true;
}
