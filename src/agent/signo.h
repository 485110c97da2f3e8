/* agent/signo.h - which signals are ours.
 *
 * Rounds and CPU timers use a real-time signal that nobody had: their number cannot be lost to another
 * pending one.  Perf events use an old-style signal, SIGSTKFLT, which no kernel sends: a real-time signal
 * of theirs is queued at every expiration while a thread blocks it, and when the user's queue is full the
 * kernel sends SIGIO instead, which kills. */
#pragma once
#include "base/err.h"

/* A real-time signal that nobody uses, the highest; 0: there is none. */
int signo_free(void);
/* SIGSTKFLT, if nobody uses it; otherwise 0. */
int signo_free_event(void);

/* Installs the handler, for good: a late signal must find it. */
NODISCARD bool signo_take(int sig);

/* Is the handler still ours? */
bool signo_ours(int sig);

/* Takes pending signals of the calling thread away, which would kill a program that is exec'd. */
void signo_drain(int round, int event);
