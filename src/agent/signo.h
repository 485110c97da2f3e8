/* agent/signo.h - which signals are ours.
 *
 * Rounds and CPU timers use a real-time signal that nobody had: their number cannot be lost to another
 * pending one.  Perf events use an old-style signal, SIGSTKFLT, which no kernel sends: a real-time signal
 * of theirs is queued at every expiration while a thread blocks it, and when the user's queue is full the
 * kernel sends SIGIO instead, which kills. */
#pragma once
#include "base/err.h"

/* Finds and installs both.  *event is 0 when SIGSTKFLT is taken. */
NODISCARD bool signo_open(int *round, int *event, err *e);

/* Is the handler still ours? */
bool signo_ours(int sig);

/* Another real-time signal, installed; 0: there is none left. */
int signo_move(void);

/* Takes pending signals of the calling thread away, which would kill a program that is exec'd. */
void signo_drain(int round, int event);
