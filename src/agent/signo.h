/* agent/signo.h - the signals of the agent.
 *
 * Rounds and CPU timers use an unused real-time signal, because real-time signals are queued and
 * none is lost.  Perf events use an old-style signal, SIGSTKFLT, which no kernel sends.  With a
 * real-time signal every expiration would be queued while a thread blocks the signal; when the
 * user's queue is full, the kernel sends SIGIO instead, which kills the process. */
#pragma once
#include "base/err.h"

/* Returns the highest unused real-time signal, or 0. */
int signo_free(void);
/* Returns SIGSTKFLT if it is unused; otherwise 0. */
int signo_free_event(void);

/* Installs the handler.  It stays installed, for late signals. */
NODISCARD bool signo_take(int sig);

/* Returns whether the handler is still installed. */
bool signo_ours(int sig);

/* Removes pending signals of the calling thread, which would kill the program after an exec. */
void signo_drain(int round, int event);
