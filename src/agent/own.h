/* agent/own.h - the agent's own threads: never sampled, their CPU time counted separately
 * (capture_own_thread and related functions in capture.h). */
#pragma once
#include "base/compiler.h"

/* Called when a thread of the agent is about to end.  Its CPU time stays counted. */
void own_end(uint32_t tid);

/* Returns whether any of the agent's threads still exists, including one that is about to end. */
bool own_any(void);

/* Called in the child of a fork, which has none of them. */
void own_forked(void);

/* Returns whether threads created by the calling thread belong to the agent
 * (capture_own_new_threads). */
bool own_new_threads_on(void);
/* While on, the calling thread counts as the agent's.  For a thread of the program that does the
 * agent's work. */
void own_borrow(bool on);
