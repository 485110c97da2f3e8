/* agent/events.h - perf events of the task clock, as descriptors in the program's table.
 *
 * The program's threads open and close the events of their own.  The sampler has a table of its own (descriptors.h) and cannot:
 * a thread that shares the program's, kiln-events, does it for the sampler.  So the agent opens nothing else in the program's table,
 * where a program counts on the lowest free number. */
#pragma once
#include "base/compiler.h"

typedef struct event_opts {
    uint32_t tid;
    uint64_t period; /* ns of CPU time */
    bool user_only;
    int sig;            /* delivered to the thread, with the descriptor */
    uint32_t from, end; /* the descriptor's number is at least `from` and below `end` */
} event_opts;

/* A descriptor, of an event that does not count yet; -1: not permitted, or no descriptor is left. */
NODISCARD int event_open(const event_opts *o);
/* It counts from here on.  false: the thread is gone, and the descriptor is closed. */
NODISCARD bool event_start(int fd, const event_opts *o);
/* Is the descriptor still that event?  A program may have closed it, and may have something else under its number.  tid 0: of any thread.
 * The kernel gives no owner for a thread that is gone; that counts as ours. */
bool event_is_ours(int fd, int sig, uint32_t tid);
/* Stops it and closes it, if it is ours. */
void event_close(int fd, int sig, uint32_t tid);

/* The sampler's, before it takes a table of its own: starts kiln-events.  Without it the sampler opens no event. */
void events_begin(void);
/* The sampler's, at its end. */
void events_end(void);
/* In the child of a fork: kiln-events is not there. */
void events_forked(void);
