/* agent/own.h - the agent's own threads: never sampled, their CPU time counted apart (capture_own_thread and its
 * like in capture.h). */
#pragma once
#include "base/compiler.h"

/* One is about to end; its CPU time stays counted. */
void own_end(uint32_t tid);

/* Are there still some?  One that has said that it ends is still there for a moment. */
bool own_any(void);

/* In the child of a fork: there are none. */
void own_forked(void);

/* What the calling thread creates just now is the agent's (capture_own_births). */
bool own_births_on(void);
/* The calling thread counts as the agent's until it is given back: for a thread of the program's that does the agent's work. */
void own_borrow(bool on);
