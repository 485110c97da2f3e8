/* net/loop.h - one thread's epoll loop: descriptors, timers, and a knock from outside.
 *
 * Everything but loop_wake belongs to the thread that runs the loop.  Callbacks may watch, forget, arm and
 * disarm whatever they like, themselves included: an event of a forgotten watch is not delivered. */
#pragma once
#include "base/err.h"
#include "net/world.h"
#include <sys/epoll.h>

typedef struct loop loop;

typedef struct loop_watch {
    int fd;
    void (*ready)(void *who, uint32_t events); /* EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP */
    void *who;
} loop_watch;

typedef struct loop_timer {
    void (*due)(void *who); /* disarmed before the call */
    void *who;
    uint64_t at; /* world_now */
    bool armed;
    uint64_t turn;
    struct loop_timer *child, *next, *prev; /* prev: of a first child its parent */
} loop_timer;

/* NULL: `e` says why.  `knock` is called in the loop's thread after loop_wake, once for any number. */
NODISCARD loop *loop_open(const world *w, void (*knock)(void *who), void *who, err *e);
void loop_close(loop *l); /* descriptors of watches stay open: they are their owners' */
const world *loop_world(const loop *l);
static inline uint64_t loop_now(const loop *l) { return world_now(loop_world(l)); }

/* The watch must stay where it is until it is forgotten. */
NODISCARD bool loop_add(loop *l, loop_watch *w, uint32_t events, err *e);
void loop_change(loop *l, loop_watch *w, uint32_t events);
void loop_forget(loop *l, loop_watch *w);

/* Arms, or moves when armed; the logarithm of how many there are. */
void loop_arm(loop *l, loop_timer *t, uint64_t at);
void loop_disarm(loop *l, loop_timer *t);

/* The number of loop_once calls so far, and when the events of this one began to be delivered: whoever bounds its work by the
 * turn, or yields in a long one, looks here. */
uint64_t loop_turn(const loop *l);
uint64_t loop_turn_began(const loop *l);

/* Waits for the next event or timer, at most max_wait ns, and delivers what there is. */
void loop_once(loop *l, uint64_t max_wait);

/* In the child of a fork, where nobody runs the loop: closes its descriptors and those of its watches (the first
 * LOOP_KEPT), which the child inherited; one that was being opened may stay.  Memory stays as it is. */
enum { LOOP_KEPT = 8 };
void loop_forked(loop *l);

/* From any thread: loop_once returns soon and `knock` is called. */
void loop_wake(loop *l);
