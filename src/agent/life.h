/* agent/life.h - births, ends and departures, as interposed calls tell them (agent/interpose.c). */
#pragma once
#include "agent/threads.h"

/* Before pthread_create: a record to start life_run with; NULL: start the thread as it is. */
thread_record *life_expect(void *(*run)(void *), void *arg);
/* It was not started. */
void life_cancel(thread_record *t);
/* In the child of a fork: it has one thread. */
void life_forked(void);
/* The first function of a watched thread; calls on, and leaves no frame behind. */
void *life_run(void *record);
int life_run_c11(void *record); /* of thrd_create */
/* In capture_open: ends of threads are noticed from now on. */
NODISCARD bool life_open(err *e);
/* A thread that was adopted, not created, shall be noticed too. */
void life_adopt(thread_record *t);

/* Before an exec: the calling thread gets no signal of ours until life_stay.  `will`: the file is there, so
 * the program is told to expect to leave. */
void life_go(bool will);
/* The same; looks whether the file is there. */
void life_go_to(const char *path);
/* The exec has failed. */
void life_stay(void);

/* Is this signal in use by the capture, and the calling thread the program's? */
bool life_signal_ours(int sig);
/* Is it the capture's handler, and the calling thread the program's? */
bool life_handler(const struct sigaction *a);
/* The program wants to handle it: the capture moves to another one.  Waits for that, for a moment. */
void life_yield(int sig);
/* The capture uses this signal and could not move to another one: the program's action is kept, and our handler calls the
 * program's for signals that are not ours.  `act` and `old` as for sigaction; both may be NULL. */
void life_share(int sig, const struct sigaction *act, struct sigaction *old);
/* Which of a set, that the program blocks or waits for, are ours: bit n - 1 for signal n.  NULL: none. */
uint64_t life_ours(const sigset_t *set);

/* Before _exit and its like. */
void life_leave(void);

/* The program is about to treat its threads differently, which the agent's threads would be in the way of: the capture
 * ends, and they with it.  A capture without threads goes on. */
void life_change_privilege(void);
/* The program is about to forbid itself system calls: the capture ends. */
void life_retire(void);
