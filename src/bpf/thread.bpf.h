/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/thread.bpf.h - the state of a recorded thread, in the kernel's task storage.
 *
 * A thread is either on a CPU (on_since != 0) or off (off_since != 0).  Every switch ends one state
 * and begins the other at the same time, so that on_ns and the intervals add up to the wall time.
 * off_since is changed by atomic operations only: a dump moves it while the thread may be switched
 * in by another CPU, and the one that exchanges it owns the interval that ends there. */
#pragma once
#include "bpf/maps.bpf.h"

enum { TASK_DEAD = 0x80 }; /* of task_struct.__state */

struct thread {
    uint64_t since;     /* first seen */
    uint64_t on_since;  /* 0: not running */
    uint64_t on_ns;     /* CPU time until on_since */
    uint64_t accounted; /* the part of the CPU time that records represent */
    uint64_t off_since; /* start of the interval or of its next piece; 0: running */
    uint64_t exec_ns;   /* the scheduler's own clock at the last switch-out */
    uint64_t runnable;  /* time of the wakeup; 0: not woken yet */
    uint64_t stack;
    uint64_t short_count, short_ns;
    uint32_t state;
    int32_t syscall;
    uint32_t flags; /* BPF_OFF_* */
    uint32_t unused;
    struct hands hands;
    struct bpf_ids ids;
    struct bpf_waking waker;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

INLINE uint64_t thread_on_ns(const struct thread *p, uint64_t now)
{
    uint64_t since = p->on_since;
    return p->on_ns + (since && now > since ? now - since : 0);
}

/* Returns the CPU time up to `on_ns` that no record represents, for a record that will.  A dump may
 * run at the same time as a sample of the thread: only one of them gets it. */
INLINE uint64_t claim(struct thread *p, uint64_t on_ns)
{
    uint64_t old = p->accounted;
    if (on_ns <= old || __sync_val_compare_and_swap(&p->accounted, old, on_ns) != old) return 0;
    return on_ns - old;
}

/* Called when the record was not sent. */
INLINE void unclaim(struct thread *p, uint64_t ns) { __sync_fetch_and_add(&p->accounted, -ns); }

enum {
    WINDOW_BITS = 27, /* of ns: 134 ms */
    HANDS_MAX = 512,  /* per window: 3800 a second */
    HANDS_THREAD = 64,
};

INLINE bool count_hand(struct hands *h, uint32_t window, uint32_t max)
{
    if (h->window != window) {
        h->window = window;
        h->n = 0;
    }
    if (h->n >= max) return false;
    __sync_fetch_and_add(&h->n, 1);
    return true;
}

/* Returns whether a wait that begins now may have its stack handed over.  Its duration is not known
 * yet, so neither the minimum nor the rate of waits limits the copies.  The limit of a thread leaves
 * some for the others.  CPUs that begin a window at the same time may add a few. */
INLINE bool may_hand_over(struct thread *p, uint64_t now)
{
    uint32_t window = (uint32_t)(now >> WINDOW_BITS);
    return count_hand(&p->hands, window, HANDS_THREAD) && count_hand(&all_hands, window, HANDS_MAX);
}

/* p: NULL without off-CPU intervals. */
INLINE void put_thread(struct bpf_rec_thread *r, uint32_t kind, struct task_struct *t,
                       const struct thread *p, uint64_t now)
{
    *r = (struct bpf_rec_thread){
        .kind = kind, .tgid = (uint32_t)t->tgid, .tid = (uint32_t)t->pid, .time = now};
    if (!p) return;
    r->since = p->since;
    r->on_ns = thread_on_ns(p, now);
    r->short_count = p->short_count;
    r->short_ns = p->short_ns;
}

/* Fills a record with the interval from `start` to `end`. */
INLINE void put_interval(struct bpf_rec_off *r, struct task_struct *t, const struct thread *p,
                         uint64_t start, uint64_t end)
{
    r->kind = BPF_REC_OFF;
    r->tgid = (uint32_t)t->tgid;
    r->tid = (uint32_t)t->pid;
    r->flags = p->flags;
    r->start = start;
    r->end = end;
    r->runnable = p->runnable;
    r->value = end - start;
    r->stack = p->stack;
    r->on_ns = p->on_ns;
    r->rest = 0;
    r->since = p->since;
    r->short_count = p->short_count;
    r->short_ns = p->short_ns;
    r->state = p->state;
    r->syscall = p->syscall;
    r->ids = p->ids;
    r->waker = p->waker;
}
