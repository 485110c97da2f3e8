/* agent/signal/handler.h - the one signal handler, and all that it may look at.  Signal room.
 *
 * Who sent the signal is told by si_code:
 *     SI_QUEUE   the sampler, a round of the wall clock: si_value is a ticket of a slot
 *     SI_TIMER   a CPU timer: si_value is thread_ticket()
 *     POLL_*     a perf event, by its descriptor
 * Anything else is not ours: counted, and nothing more. */
#pragma once
#include "agent/signal/ring.h"
#include "agent/signal/slot.h"
#include <signal.h>
#include <time.h>

/* What the handler knows of a thread; the table has more. */
typedef struct thread_face {
    uint32_t tid;
    _Atomic uint32_t generation; /* of this place in the table */
    unwind_stack stack;
    _Atomic uint32_t sampled; /* a sample of it was put into the ring */
} thread_face;

/* What handlers count; in shared memory where a collector outside reads it (probe/segment.h). */
typedef struct handler_counts {
    _Alignas(64) _Atomic uint64_t strangers, ring_full;
    /* Set by the collector: the program has filtered its system calls, and the handler makes none any more. */
    _Atomic uint32_t filtered;
} handler_counts;

/* The one global that a handler forces on us: written before the handler is installed; later only the
 * atomics change.  After a fork everything is prepared anew before a signal can come. */
enum { HANDLER_SIGNALS = 65 }; /* numbers of signals, and 0 */

typedef struct handler_state {
    _Atomic uint32_t pid; /* whose signals these are; 0: nobody's */
    int (*now)(clockid_t,
               struct timespec *); /* the vdso's, by way of libc: no call is left to bind */
    _Atomic(unwind_door *) door;
    _Atomic(const span_place *) span; /* looked at only between snapshot_enter and _leave */
    uint32_t max_frames;

    char *slots;
    size_t slot_bytes;
    uint32_t n_slots;

    ring ring;
    handler_counts *counts;
    _Atomic uint32_t *wake; /* the ring is half full: a futex of whoever drains it */
    int wake_op;            /* FUTEX_WAKE or FUTEX_WAKE_PRIVATE */
    uint32_t desk;          /* probe: of this process */
    bool outside;           /* probe: a collector outside values the samples */

    char *threads; /* records that begin with a thread_face */
    size_t thread_bytes;
    uint32_t n_threads;
    _Atomic uint32_t *by_fd;  /* descriptor of a perf event -> position in threads + 1 */
    uint32_t fds_from, n_fds; /* events have descriptors from .. to below .. */

    /* The program's own handlers of signals that it shares with the capture; NULL: it has none. */
    _Atomic(void (*)(int, siginfo_t *, void *)) shared[HANDLER_SIGNALS];

    _Alignas(64) _Atomic uint32_t answered; /* slots that were answered, for ever: a futex */
    _Atomic uint32_t target;                /* the sampler waits until so many are */
} handler_state;

extern handler_state handler;

/* Of a cell of the ring, for stacks of so many frames. */
static inline size_t handler_cell_bytes(uint32_t max_frames)
{
    return (sizeof(ring_cell) + raw_bytes(max_frames) + 63) & ~(size_t)63;
}

static inline uint64_t thread_ticket(uint32_t position, uint32_t generation)
{
    return (uint64_t)generation << 32 | position;
}

static inline thread_face *handler_thread(const handler_state *h, uint32_t position)
{
    return (thread_face *)(void *)(h->threads + position * h->thread_bytes);
}

static inline slot *handler_slot(const handler_state *h, uint32_t number)
{
    return (slot *)(void *)(h->slots + number * h->slot_bytes);
}

/* SA_SIGINFO | SA_RESTART | SA_ONSTACK, all signals masked.  Touches neither errno nor any lock. */
void handler_run(int sig, siginfo_t *si, void *context);
