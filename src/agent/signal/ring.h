/* agent/signal/ring.h - a queue from the handlers of all threads to one reader.  Signal room.
 *
 * The ring has n cells of equal size.  Position p is in cell p % n, in lap p / n.  Each cell has a
 * turn.  It is initially zero, so that a page is not touched before one of its cells is used:
 *
 *     2 lap      a writer of this lap may claim it (by moving tail from p to p + 1)
 *     2 lap + 1  written: the reader may read it, and releases it for the next lap with 2 lap + 2
 *
 * A writer that is preempted between claim and commit delays only the reader.  Handlers mask all
 * signals, so a thread never has two claims at once.  When the ring is full, the writer gets NULL.
 *
 * Processes may share the memory (probe/segment.h).  A process may be killed between claim and
 * commit.  The cell contains the id of its writer, and the reader skips the cell of a dead writer
 * (ring_skip).  If the writer was only slow, its commit finds that its turn is over, and the record
 * is lost. */
#pragma once
#include "base/compiler.h"
#include <stdatomic.h>

typedef struct ring_cell {
    _Alignas(64) _Atomic uint64_t turn;
    uint64_t position;        /* position of the writer, between claim and commit */
    _Atomic uint32_t writer;  /* process that claimed it; 0: not known yet, or free */
    _Alignas(8) char bytes[]; /* a raw_sample */
} ring_cell;

typedef struct ring_ends {
    _Alignas(64) _Atomic uint64_t tail; /* next position to claim */
    _Alignas(64) _Atomic uint64_t head; /* next position to take; only the reader changes it */
} ring_ends;

typedef struct ring {
    char *cells;
    size_t cell_bytes; /* a multiple of 64 */
    uint32_t n;        /* number of cells, a power of two */
    ring_ends *ends;
} ring;

static inline ring_cell *ring_at(const ring *r, uint64_t p)
{
    return (ring_cell *)(void *)(r->cells + (size_t)(p & (r->n - 1u)) * r->cell_bytes);
}

/* Returns the turn in which position p may be claimed. */
static inline uint64_t ring_lap(const ring *r, uint64_t p) { return p / r->n * 2; }

/* Returns a cell that belongs to the caller until ring_commit; NULL when the ring is full. */
static inline ring_cell *ring_claim(ring *r)
{
    uint64_t p = atomic_load_explicit(&r->ends->tail, memory_order_relaxed);
    for (;;) {
        ring_cell *c = ring_at(r, p);
        /* acquire: pairs with ring_release; the reader has finished with these bytes */
        uint64_t turn = atomic_load_explicit(&c->turn, memory_order_acquire);
        if (turn == ring_lap(r, p)) {
            if (atomic_compare_exchange_weak_explicit(&r->ends->tail, &p, p + 1,
                                                      memory_order_relaxed, memory_order_relaxed)) {
                c->position = p;
                return c;
            }
        } else if ((int64_t)(turn - ring_lap(r, p)) < 0) {
            return NULL; /* not released since the previous lap */
        } else {
            p = atomic_load_explicit(&r->ends->tail, memory_order_relaxed);
        }
    }
}

/* Passes the cell to the reader.  Returns true when the ring is now half full and the reader should
 * be woken. */
static inline bool ring_commit(ring *r, ring_cell *c)
{
    uint64_t p = c->position, mine = ring_lap(r, p);
    /* release: pairs with ring_peek.  Fails when the reader has skipped the cell. */
    if (!atomic_compare_exchange_strong_explicit(&c->turn, &mine, mine + 1, memory_order_release,
                                                 memory_order_relaxed))
        return false;
    return p + 1 - atomic_load_explicit(&r->ends->head, memory_order_relaxed) == r->n / 2;
}

/* Returns the oldest cell if it is written; otherwise NULL. */
static inline ring_cell *ring_peek(const ring *r)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed);
    ring_cell *c = ring_at(r, p);
    uint64_t turn = atomic_load_explicit(&c->turn, memory_order_acquire);
    return turn == ring_lap(r, p) + 1 ? c : NULL;
}

/* Returns the oldest cell if it is claimed and not written; otherwise NULL.  Sets *writer to its
 * writer; 0: not known yet. */
static inline ring_cell *ring_pending(const ring *r, uint32_t *writer)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed);
    ring_cell *c = ring_at(r, p);
    if (atomic_load_explicit(&r->ends->tail, memory_order_relaxed) == p) return NULL;
    if (atomic_load_explicit(&c->turn, memory_order_acquire) != ring_lap(r, p)) return NULL;
    *writer = atomic_load_explicit(&c->writer, memory_order_relaxed);
    return c;
}

/* Releases the cell of ring_peek. */
static inline void ring_release(ring *r, ring_cell *c)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed);
    atomic_store_explicit(&c->writer, 0, memory_order_relaxed);
    atomic_store_explicit(&c->turn, ring_lap(r, p) + 2, memory_order_release);
    atomic_store_explicit(&r->ends->head, p + 1, memory_order_relaxed);
}

/* Skips the cell of ring_pending.  Returns false when its writer has meanwhile committed it. */
static inline bool ring_skip(ring *r, ring_cell *c)
{
    uint64_t p = atomic_load_explicit(&r->ends->head, memory_order_relaxed), mine = ring_lap(r, p);
    atomic_store_explicit(&c->writer, 0, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&c->turn, &mine, mine + 2)) return false;
    atomic_store_explicit(&r->ends->head, p + 1, memory_order_relaxed);
    return true;
}
