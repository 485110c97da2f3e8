/* agent/lifecycle.h - events in the life of the program that interposed calls report
 * (agent/interpose*.c): start and end of threads, exec, exit, signals, privileges. */
#pragma once
#include "agent/threads.h"

/* Called before pthread_create.  Returns a record for lifecycle_run, or NULL: start the thread
 * without it. */
thread_record *lifecycle_prepare(void *(*run)(void *), void *arg);
/* Called when the thread was not started. */
void lifecycle_cancel(thread_record *t);
/* Called in the child of a fork, which has one thread. */
void lifecycle_forked(void);
/* The first function of a watched thread.  Jumps to the program's function and leaves no frame. */
void *lifecycle_run(void *record);
int lifecycle_run_c11(void *record); /* for thrd_create */
/* Called by capture_open: from now on, the end of threads is noticed. */
NODISCARD bool lifecycle_open(err *e);
/* Makes sure that the end of the calling thread is noticed, if lifecycle_run did not create it. */
void lifecycle_adopt(thread_record *t);

/* Called before an exec: the calling thread gets no signal of the agent until
 * lifecycle_exec_failed.  `will`: the file exists, so the `leaving` callback is called. */
void lifecycle_before_exec(bool will);
/* lifecycle_before_exec; checks whether the file exists. */
void lifecycle_before_exec_of(const char *path);
/* Called when the exec has failed. */
void lifecycle_exec_failed(void);

/* Returns whether the capture uses this signal and the calling thread belongs to the program. */
bool lifecycle_owns_signal(int sig);
/* Returns whether this is the agent's handler and the calling thread belongs to the program. */
bool lifecycle_is_handler(const struct sigaction *a);
/* Called when the program is about to handle this signal.  Waits for a short time until the capture
 * has switched to another one. */
void lifecycle_yield_signal(int sig);
/* Called when the capture uses this signal and could not switch.  Stores the program's action; the
 * agent's handler calls it for foreign signals.  `act` and `old` as for sigaction; both may be
 * NULL. */
void lifecycle_share_signal(int sig, const struct sigaction *act, struct sigaction *old);
/* Returns the agent's signals in a set that the program blocks or waits for: bit n - 1 for signal
 * n.  0 when set is NULL. */
uint64_t lifecycle_owned_signals(const sigset_t *set);

/* Called before _exit and similar calls. */
void lifecycle_before_exit(void);

/* Called before the program changes the privileges of one thread: stops the capture, because the
 * agent's threads would interfere.  A capture without threads continues. */
void lifecycle_change_privilege(void);
/* Called before the program installs a seccomp filter: stops the capture. */
void lifecycle_stop(void);
