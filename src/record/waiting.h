/* record/waiting.h - stacks of threads that were already waiting when the recording began.  The
 * switch that the stack belongs to was not observed, but a waiting thread's stack does not change,
 * so it can be read from outside (agent/blocked.h). */
#pragma once
#include "record/internal.h"

typedef struct waiting waiting;

/* Returns NULL when out of memory. */
NODISCARD waiting *waiting_open(uint32_t max_frames);
void waiting_close(waiting *w);

/* Walks the stack of a thread that waits now.  Returns its frames, valid until the next call, or
 * NULL when the thread runs or cannot be read. */
const uintptr_t *waiting_walk(waiting *w, space *s, const space_world *world, uint32_t tid,
                              size_t *n, unwind_end *end);

/* Keeps the stacks of all waiting threads of a process (space_thread.initial). */
void waiting_keep(waiting *w, space *s, const space_world *world);
