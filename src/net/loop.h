/* net/loop.h - an epoll loop for one thread: descriptors, timers, and wake-ups from other threads.
 * All functions except loop_wake must be called in the thread that runs the loop.  Callbacks may
 * add, forget, arm and disarm anything, including themselves; events of a forgotten watch are not
 * delivered. */
#pragma once
#include "base/err.h"
#include "net/world.h"
#include <sys/epoll.h>

typedef struct loop loop;

typedef struct loop_watch {
    int fd;
    void (*ready)(void *ctx, uint32_t events); /* EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP */
    void *ctx;
} loop_watch;

typedef struct loop_timer {
    void (*due)(void *ctx); /* the timer is disarmed before the call */
    void *ctx;
    uint64_t at; /* time by world_now */
    bool armed;
    uint64_t turn;
    struct loop_timer *child, *next, *prev; /* pairing heap; prev of a first child is its parent */
} loop_timer;

/* `on_wake` is called in the loop's thread after one or more calls of loop_wake.  Returns NULL and
 * sets *e on failure. */
NODISCARD loop *loop_open(const world *w, void (*on_wake)(void *ctx), void *ctx, err *e);
void loop_close(loop *l); /* does not close the descriptors of watches */
const world *loop_world(const loop *l);
static inline uint64_t loop_now(const loop *l) { return world_now(loop_world(l)); }

/* The watch must stay at its address until loop_forget. */
NODISCARD bool loop_add(loop *l, loop_watch *w, uint32_t events, err *e);
void loop_change(loop *l, loop_watch *w, uint32_t events);
void loop_forget(loop *l, loop_watch *w);

/* Arms a timer, or moves an armed one, in logarithmic time. */
void loop_arm(loop *l, loop_timer *t, uint64_t at);
void loop_disarm(loop *l, loop_timer *t);

/* Return the number of loop_once calls so far, and the time when the current call began to deliver
 * events.  Users limit their work per turn with these. */
uint64_t loop_turn(const loop *l);
uint64_t loop_turn_began(const loop *l);

/* Waits for the next event or timer, at most max_wait ns, and calls the callbacks. */
void loop_once(loop *l, uint64_t max_wait);

/* Call in the child of a fork.  Closes the inherited descriptors of the loop and of up to
 * LOOP_MAX_FDS watches.  A descriptor that was just being opened may stay open.  Frees no
 * memory. */
enum { LOOP_MAX_FDS = 8 };
void loop_forked(loop *l);

/* May be called from any thread.  Makes loop_once return soon and call `on_wake`. */
void loop_wake(loop *l);
