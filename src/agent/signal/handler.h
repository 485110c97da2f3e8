/* agent/signal/handler.h - the signal handler and all data that it may access.  Signal room.
 *
 * si_code identifies the sender:
 *     SI_QUEUE   the sampler, for a wall-clock round: si_value is a ticket of a slot
 *     SI_TIMER   a CPU timer: si_value is thread_ticket()
 *     POLL_*     a perf event, by its descriptor
 * Any other signal is foreign: it is counted, or passed to the program's handler. */
#pragma once
#include "agent/signal/ring.h"
#include "agent/signal/slot.h"
#include <signal.h>
#include <time.h>

/* The part of a thread record that the handler reads (agent/threads.h). */
typedef struct thread_public {
    uint32_t tid;
    _Atomic uint32_t generation; /* counts the uses of this record */
    unwind_stack stack;
    _Atomic uint32_t sampled; /* a sample of the thread is in the ring */
} thread_public;

/* Counters of the handlers, in shared memory if an external collector reads them
 * (probe/segment.h). */
typedef struct handler_counts {
    _Alignas(64) _Atomic uint64_t foreign_signals, ring_full;
    /* Set by the collector: the program has installed a seccomp filter, and the handler makes no
     * more system calls. */
    _Atomic uint32_t filtered;
} handler_counts;

/* The global state of the handler, written before the handler is installed.  Later only the atomics
 * change. After a fork it is prepared again before a signal can arrive. */
enum { HANDLER_SIGNALS = 65 }; /* signal numbers, and 0 */

typedef struct handler_state {
    _Atomic uint32_t pid; /* captured process; 0: none */
    int (*now)(clockid_t,
               struct timespec *); /* the vdso's clock_gettime: no symbol is left to bind */
    _Atomic(unwind_gate *) gate;
    _Atomic(const span_place *) span; /* accessed only between snapshot_enter and snapshot_leave */
    uint32_t max_frames;

    char *slots;
    size_t slot_bytes;
    uint32_t n_slots;

    ring ring;
    handler_counts *counts;
    _Atomic uint32_t *wake; /* futex that wakes the ring's reader when the ring is half full */
    int wake_op;            /* FUTEX_WAKE or FUTEX_WAKE_PRIVATE */
    uint32_t proc_slot;     /* probe: the slot of this process */
    bool outside;           /* probe: an external collector reads the samples */

    char *threads; /* array of records that begin with a thread_public */
    size_t thread_bytes;
    uint32_t n_threads;
    _Atomic uint32_t *by_fd;  /* descriptor of a perf event -> index in threads + 1 */
    uint32_t fds_from, n_fds; /* range of the events' descriptors: [fds_from, n_fds) */

    /* The program's handlers for signals that it shares with the capture; NULL: none. */
    _Atomic(void (*)(int, siginfo_t *, void *)) shared[HANDLER_SIGNALS];

    _Alignas(64) _Atomic uint32_t slots_done; /* number of slots filled since the start; a futex */
    _Atomic uint32_t target;                  /* value of slots_done that wakes the sampler */
} handler_state;

extern handler_state handler;

/* Size of a ring cell for stacks of max_frames. */
static inline size_t handler_cell_bytes(uint32_t max_frames)
{
    return (sizeof(ring_cell) + raw_bytes(max_frames) + 63) & ~(size_t)63;
}

static inline uint64_t thread_ticket(uint32_t position, uint32_t generation)
{
    return (uint64_t)generation << 32 | position;
}

static inline thread_public *handler_thread(const handler_state *h, uint32_t position)
{
    return (thread_public *)(void *)(h->threads + position * h->thread_bytes);
}

static inline slot *handler_slot(const handler_state *h, uint32_t number)
{
    return (slot *)(void *)(h->slots + number * h->slot_bytes);
}

/* Installed with SA_SIGINFO | SA_RESTART | SA_ONSTACK and all signals masked.  Does not change
 * errno and takes no lock. */
void handler_run(int sig, siginfo_t *si, void *context);
