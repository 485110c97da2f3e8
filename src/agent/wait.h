/* agent/wait.h - when an interposed blocking call is made again.
 *
 * Our signal ends calls that the kernel does not restart (signal(7)): poll, nanosleep, a recv with a timeout.
 * The wrapper makes the call again, for the time that is left, when the call failed with EINTR and between
 * wait_begin and wait_again
 *
 *   1. our handler ran in this thread,
 *   2. no handler of the program ran in this thread (agent/trampoline.h counts them),
 *   3. no handler is installed past the trampoline, where (2) could not be known.
 *
 * Otherwise the program gets its EINTR.  A program's handler that runs between the comparison and the system
 * call of the next attempt is like one that runs right before the call: without a mask (ppoll, pselect,
 * epoll_pwait, sigsuspend) a program cannot tell the two apart, and with one the signal is blocked there. */
#pragma once
#include "agent/signal/delivered.h"
#include <errno.h>
#include <time.h>

typedef struct wait_mark {
    delivered before;
    int saved; /* errno, which a call that succeeds in the end leaves alone */
} wait_mark;

/* Makes the function that it stands in save the registers by which stacks are walked, and say so in its unwind table.
 * /proc tells only pc and sp of a thread that waits (agent/blocked.h), and libc's functions save few others: behind
 * this frame the walk knows them.  The interposers are compiled without frame pointers for the same reason: a frame
 * that is found by rbp could not be left. */
#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define WAIT_SAVE_REGISTERS() __asm__ volatile("" : : : "rbx", "rbp")
#else
#define WAIT_SAVE_REGISTERS() ((void)0)
#endif

static inline wait_mark wait_begin(void) { return (wait_mark){signals_delivered, errno}; }

/* Between the mark and now our handler ran in this thread, and none of the program's.  The mark is set forward. */
NODISCARD bool wait_only_ours(wait_mark *m);

/* Behind a call that failed with errno.  true: make it again.  errno is what it was before the call then. */
NODISCARD bool wait_again(wait_mark *m);

/* CLOCK_MONOTONIC, ns. */
static inline uint64_t wait_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What is left until `deadline`, zero if it is over. */
struct timespec wait_left(uint64_t deadline);

/* start + t, as far as 64 bits go. */
uint64_t wait_until(uint64_t start, const struct timespec *t);

/* The same in milliseconds, rounded up, for calls that have no finer timeout. */
int wait_left_ms(uint64_t deadline);

/* A socket's call was interrupted by us alone: waits until the socket is ready, at most for the timeout that
 * the socket has (SO_RCVTIMEO, or SO_SNDTIMEO when `out`).  1: make the call again.  0: the time is over.
 * -1: errno says why not (EINTR: a handler of the program ran).
 * The timeout counts from here, not from the start of the call: *deadline, 0 at first, keeps it. */
int wait_socket(int fd, bool out, const wait_mark *m, uint64_t *deadline);
