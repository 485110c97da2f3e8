/* agent/events.h - perf events of the task clock, as descriptors in the program's table.
 *
 * The program's threads open and close their own events.  The sampler has a descriptor table of its
 * own (descriptors.h), so the thread kiln-events, which shares the program's table, opens and
 * closes events for it.  The agent opens nothing else in the program's table, because programs rely
 * on the lowest free number. */
#pragma once
#include "base/compiler.h"

typedef struct event_opts {
    uint32_t tid;
    uint64_t period; /* ns of CPU time */
    bool user_only;
    int sig;            /* sent to the thread; si_fd is the descriptor */
    uint32_t from, end; /* allowed numbers of the descriptor: [from, end) */
} event_opts;

/* Returns the descriptor of a disabled event; -1 when events are not permitted or no descriptor is
 * left. */
NODISCARD int event_open(const event_opts *o);
/* Enables the event.  Returns false when the thread has ended; the descriptor is then closed. */
NODISCARD bool event_start(int fd, const event_opts *o);
/* Returns whether the descriptor still refers to the event of thread `tid`.  The program may have
 * closed it and reused the number.  tid 0: an event of any thread.  The kernel reports no owner for
 * a thread that has ended; this counts as a match. */
bool event_is_ours(int fd, int sig, uint32_t tid);
/* Disables and closes the event if event_is_ours. */
void event_close(int fd, int sig, uint32_t tid);

/* Starts kiln-events.  The sampler must call it before descriptors_own, or it can open no
 * events. */
void events_begin(void);
/* Ends kiln-events.  The sampler calls it at its end. */
void events_end(void);
/* Called in the child of a fork, where kiln-events does not exist. */
void events_forked(void);
