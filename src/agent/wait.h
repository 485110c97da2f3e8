/* agent/wait.h - when an interposed blocking call is repeated.
 *
 * The agent's signal interrupts calls that the kernel does not restart (signal(7)): poll,
 * nanosleep, a recv with a timeout.  The wrapper repeats the call for the remaining time when it
 * failed with EINTR and, between wait_begin and wait_again,
 *
 *   1. the agent's handler ran in this thread,
 *   2. no handler of the program ran in this thread (agent/trampoline.h counts them),
 *   3. no handler is installed without a trampoline, because (2) would not be known.
 *
 * Otherwise the program gets EINTR.  A handler of the program that runs between the comparison and
 * the next attempt is equivalent to one that runs just before the call: without a mask (ppoll,
 * pselect, epoll_pwait, sigsuspend) a program cannot distinguish the two, and with a mask the
 * signal is blocked there. */
#pragma once
#include "agent/signal/delivered.h"
#include "arch/context.h"
#include <errno.h>
#include <time.h>

typedef struct wait_mark {
    delivered before;
    int saved; /* errno before the call, restored if the repeated call succeeds */
} wait_mark;

/* Makes the enclosing function save the registers that unwinding needs, and describe this in its
 * unwind table.  /proc provides only pc and sp of a waiting thread (agent/blocked.h), and libc's
 * functions save few other registers; this frame provides them.  The interposed functions are
 * compiled without frame pointers: a frame found by rbp could not be unwound. */
#define WAIT_SAVE_REGISTERS() ARCH_SAVE_REGISTERS()

static inline wait_mark wait_begin(void) { return (wait_mark){signals_delivered, errno}; }

/* Returns whether, since the mark, the agent's handler ran in this thread and no handler of the
 * program did.  Advances the mark. */
NODISCARD bool wait_only_ours(wait_mark *m);

/* Called after a call that failed with errno.  Returns true when the call has to be repeated, and
 * sets errno to its value before the call. */
NODISCARD bool wait_again(wait_mark *m);

/* Returns CLOCK_MONOTONIC in ns. */
static inline uint64_t wait_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns the time until `deadline`, or zero. */
struct timespec wait_left(uint64_t deadline);

/* Returns start + t, saturated. */
uint64_t wait_until(uint64_t start, const struct timespec *t);

/* Returns the time until `deadline` in ms, rounded up, for calls without a finer timeout. */
int wait_left_ms(uint64_t deadline);

/* Called after a call on a socket that only the agent interrupted.  Waits until the socket is
 * ready, at most for the timeout of the socket (SO_RCVTIMEO, or SO_SNDTIMEO when `out`).  Returns 1
 * when the call has to be repeated, 0 on timeout, and -1 with errno (EINTR: a handler of the
 * program ran).  The timeout starts here, not at the start of the call; *deadline, initially 0,
 * stores its end. */
int wait_socket(int fd, bool out, const wait_mark *m, uint64_t *deadline);
