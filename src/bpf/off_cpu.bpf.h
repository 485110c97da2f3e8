/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/off_cpu.bpf.h - intervals in which a thread does not run.  At the switch, the current thread
 * is still the one that leaves, so its stack is taken before the duration is known. */
#pragma once
#include "bpf/filter.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/thread.bpf.h"
#include <bpf/bpf_tracing.h>

enum { STATE_MASK = 0xffff };

/* ---- intervals ---- */

/* Returns whether an interval of `d` ns is reported, and sets its value.  An interval shorter than
 * keep_ns is kept with probability d / keep_ns and then counts as keep_ns, so sums are unbiased. */
INLINE bool keeps(struct scratch *s, uint64_t d, uint64_t *value)
{
    uint64_t limit = keep_ns;
    *value = d;
    if (d >= limit) return true;
    *value = limit;
    if (bpf_keeps(d, limit, bpf_get_prandom_u32())) return true;
    s->n.sampled_away++;
    s->n.sampled_away_ns += d;
    return false;
}

/* Ends the interval that began at `start`. */
static __attribute__((noinline)) void end_interval(struct scratch *s, struct task_struct *t,
                                                   struct thread *p, uint64_t start, uint64_t end)
{
    struct bpf_rec_off r;
    uint64_t d = end - start, value;
    if (!s || !p) return;
    if (d < off_cpu_min_ns) {
        p->short_count++;
        p->short_ns += d;
        s->n.short_intervals++;
        s->n.short_ns += d;
        return;
    }
    if (!keeps(s, d, &value)) return;
    put_interval(&r, t, p, start, end);
    r.value = value;
    s->n.intervals++;
    if (bpf_ringbuf_output(&ring, &r, sizeof r, wakeup())) {
        s->n.lost_intervals++;
        s->n.lost_interval_ns += value; /* with that of the intervals for which it stands */
    }
}

/* The kernel may hide switches of threads that must not be traced, and with them the switch-in of
 * the next thread.  The scheduler's clock then shows when the thread began to run. */
INLINE void missed_enter(struct scratch *s, struct task_struct *t, struct thread *p, uint64_t now)
{
    uint64_t start = __sync_lock_test_and_set(&p->off_since, 0);
    uint64_t ran = t->se.sum_exec_runtime - p->exec_ns;
    if (!start || now < start) return;
    if (ran > now - start) ran = now - start;
    s->n.missed++;
    end_interval(s, t, p, start, now - ran);
    p->on_ns += ran;
}

/* ---- the end of a thread ---- */

/* Returns the time up to which threads are recorded. */
INLINE uint64_t time_now(void)
{
    uint64_t end = ended;
    return end ? end : bpf_ktime_get_ns();
}

/* After the end of the recording and before the dump, which finds only threads that exist, the state
 * of a thread is still that at the end.  `t` is the current thread; p: NULL without off-CPU
 * intervals. */
static __attribute__((noinline)) void report_exit(struct scratch *s, struct task_struct *t,
                                                  struct thread *p)
{
    struct bpf_rec_thread r;
    uint64_t now = time_now();
    if (!s) return;
    uint64_t start = p && ended ? __sync_lock_test_and_set(&p->off_since, 0) : 0;
    if (start && start < now) end_interval(s, t, p, start, now);
    put_thread(&r, BPF_REC_EXIT, t, p, now);
    if (p) r.rest = claim(p, r.on_ns);
    r.last = t->signal->live.counter == 0;
    bpf_get_current_comm(r.comm, sizeof r.comm);
    s->n.exits++;
    if (bpf_ringbuf_output(&ring, &r, sizeof r, wakeup())) {
        s->n.lost_exits++;
        s->n.lost_cpu_ns += r.rest;
    }
}

/* ---- switch-out ---- */

/* Returns the system call that a thread is in; -1: none. */
INLINE int32_t syscall_of(struct task_struct *t)
{
    struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(t);
    return t->flags & PF_KTHREAD ? -1 : (int32_t)r->orig_ax;
}

INLINE void leave(void *ctx, struct scratch *s, struct task_struct *t, uint32_t state, uint64_t now)
{
    struct thread *p = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!p) {
        s->n.storage_failed++;
        return;
    }
    s->n.accepted++;
    if (!p->since) p->since = now;
    if (p->on_since)
        p->on_ns += now - p->on_since;
    else if (p->off_since)
        missed_enter(s, t, p, now);
    p->exec_ns = t->se.sum_exec_runtime;
    p->state = state;
    p->flags = 0;
    p->runnable = state ? 0 : now;
    __builtin_memset(&p->waker, 0, sizeof p->waker);
    barrier();
    p->on_since = 0; /* another CPU may wake the thread from now on */
    if (state & TASK_DEAD) return;
    uint32_t tgid = (uint32_t)t->tgid;
    struct bpf_space *space = bpf_map_lookup_elem(&spaces, &tgid);
    p->stack = take_stack(ctx, s, t, space, p, now);
    p->syscall = syscall_of(t);
    __builtin_memset(&p->ids, 0, sizeof p->ids);
    if (space) read_span(s, t, space, &p->ids);
    __sync_lock_test_and_set(&p->off_since, now); /* last: a dump may read it from now on */
}

/* ---- switch-in ---- */

static __attribute__((noinline)) void enter(struct scratch *s, struct task_struct *t, uint64_t now)
{
    if (!s) return;
    struct thread *p = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!p) {
        s->n.storage_failed++;
        return;
    }
    if (!p->since) p->since = now;
    uint64_t start = __sync_lock_test_and_set(&p->off_since, 0);
    p->on_since = now > start ? now : start;
    if (start && now > start) end_interval(s, t, p, start, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_cpu, bool preempt, struct task_struct *prev, struct task_struct *next,
             unsigned int prev_state)
{
    struct scratch *s = SCRATCH(scratch_off);
    if (!s) return 0;
    s->n.runs++;
    bool out = accepts(prev), in = accepts(next), dead = !preempt && prev_state & TASK_DEAD;
    /* A thread that got another name or cgroup while it ran is not recorded from then on. */
    if (!out && !dead && !ended && (comm_length || filter == FILTER_CGROUP))
        bpf_task_storage_delete(&threads, prev);
    if (!out && !in && !dead) return 0;
    uint64_t now = bpf_ktime_get_ns();
    if (out) leave(ctx, s, prev, preempt ? 0 : prev_state & STATE_MASK, now);
    if (dead) {
        struct thread *p = bpf_task_storage_get(&threads, prev, 0, 0);
        if (p) report_exit(s, prev, p);
    }
    if (in) enter(s, next, now);
    return 0;
}

/* ---- wakeups ---- */

enum {
    KERNEL_STACK = 16 << 10, /* bytes, x86-64 */
    NET_RX_SOFTIRQ = 3,
};

/* Returns whether the current thread itself runs in the kernel: in a system call, or a kernel thread.
 * An interrupt of kernel code has a stack of its own.  One of user code has the stack of the thread,
 * which is not in a system call then (orig_ax < 0).  The arguments of a tracepoint, to which ctx
 * points, are on the stack that is in use; BPF's own stack need not be. */
INLINE bool runs_itself(struct task_struct *t, void *ctx)
{
    uint64_t at = 0, stack = (uint64_t)t->stack;
    struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(t);
    bpf_probe_read_kernel(&at, sizeof at, &ctx); /* the address as a number */
    return at - stack < KERNEL_STACK && (t->flags & PF_KTHREAD || (int64_t)r->orig_ax >= 0);
}

/* A thread that sends to a socket of its own machine raises the interrupt that receives.  The
 * receiver is woken by the sender then, although on another stack. */
SEC("tp_btf/softirq_raise")
int BPF_PROG(receiving, unsigned int vector)
{
    struct task_struct *t = bpf_get_current_task_btf();
    struct scratch *s = SCRATCH(scratch_off);
    if (vector == NET_RX_SOFTIRQ && s) s->raised_by = runs_itself(t, ctx) ? (uint32_t)t->pid : 0;
    return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(received, unsigned int vector)
{
    struct scratch *s = SCRATCH(scratch_off);
    if (vector == NET_RX_SOFTIRQ && s) s->raised_by = 0;
    return 0;
}

/* Returns whether an interrupt wakes, and not the current thread. */
INLINE bool in_interrupt(void *ctx)
{
    struct task_struct *t = bpf_get_current_task_btf();
    const struct scratch *s = SCRATCH(scratch_off);
    if (!t->pid) return true; /* the idle thread wakes others only for interrupts */
    return !runs_itself(t, ctx) && !(s && s->raised_by == (uint32_t)t->pid);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *t)
{
    if (!accepts(t)) return 0;
    struct thread *p = bpf_task_storage_get(&threads, t, 0, 0);
    if (!p || p->on_since || p->runnable) return 0;
    uint64_t who = bpf_get_current_pid_tgid();
    p->waker.tgid = (uint32_t)(who >> 32);
    p->waker.tid = (uint32_t)who;
    bpf_get_current_comm(p->waker.comm, sizeof p->waker.comm);
    p->flags |= BPF_OFF_WOKEN | (in_interrupt(ctx) ? BPF_OFF_INTERRUPT : 0);
    p->runnable = bpf_ktime_get_ns();
    return 0;
}

/* A new thread: it is runnable from now on. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(waking_new, struct task_struct *t)
{
    if (!accepts(t)) return 0;
    struct thread *p = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    struct scratch *s = SCRATCH(scratch_off);
    if (!p) {
        if (s) s->n.storage_failed++;
        return 0;
    }
    uint64_t who = bpf_get_current_pid_tgid();
    p->since = p->runnable = bpf_ktime_get_ns();
    p->syscall = -1;
    p->waker.tgid = (uint32_t)(who >> 32);
    p->waker.tid = (uint32_t)who;
    bpf_get_current_comm(p->waker.comm, sizeof p->waker.comm);
    p->flags = BPF_OFF_WOKEN;
    __sync_lock_test_and_set(&p->off_since, p->since);
    return 0;
}
