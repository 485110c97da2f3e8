/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/lifetime.bpf.h - births and exits of threads, and the iterators over those that exist. */
#pragma once
#include "bpf/off_cpu.bpf.h"

/* FILTER_PIDS: children of a followed process are followed too. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
    uint32_t from = (uint32_t)parent->tgid, to = (uint32_t)child->tgid;
    uint8_t *yes = bpf_map_lookup_elem(&followed, &from);
    struct scratch *s = SCRATCH(scratch_off);
    if (yes && from != to && bpf_map_update_elem(&followed, &to, yes, BPF_ANY) && s)
        s->n.not_followed++;
    return 0;
}

/* Returns the time up to which threads are recorded. */
INLINE uint64_t time_now(void)
{
    uint64_t end = ended;
    return end ? end : bpf_ktime_get_ns();
}

/* After the end of the recording and before the dump, which finds only threads that exist, the state
 * of a thread is still that at the end. */
INLINE void report_exit(struct scratch *s, struct task_struct *t, bool last)
{
    struct bpf_rec_thread r;
    struct thread none = {0}, *p = NULL;
    uint64_t now = time_now();
    if (with_off_cpu) p = bpf_task_storage_get(&threads, t, 0, 0);
    if (p) {
        uint64_t start = ended ? __sync_lock_test_and_set(&p->off_since, 0) : 0;
        if (start && start < now) end_interval(s, t, p, start, now);
    }
    put_thread(&r, BPF_REC_EXIT, t, p ? p : &none, now);
    if (p) r.rest = claim(p, r.on_ns);
    r.last = last;
    bpf_get_current_comm(r.comm, sizeof r.comm);
    s->n.exits++;
    if (bpf_ringbuf_output(&ring, &r, sizeof r, wakeup())) {
        s->n.lost_exits++;
        s->n.lost_cpu_ns += r.rest;
    }
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *t)
{
    struct scratch *s = SCRATCH(scratch_off);
    uint32_t tgid = (uint32_t)t->tgid;
    bool last = t->signal->live.counter == 0;
    if (s && selects(t)) report_exit(s, t, last);
    if (last && filter == FILTER_PIDS) bpf_map_delete_elem(&followed, &tgid);
    return 0;
}

/* Creates the state of threads that exist when the recording begins. */
SEC("iter/task")
int list_threads(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    if (!t || t->__state & TASK_DEAD || !accepts(t)) return 0;
    struct thread *p = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!p || p->since) return 0; /* a switch has already been seen */
    uint64_t now = bpf_ktime_get_ns();
    uint32_t state = t->__state & 0xffff;
    p->since = now;
    if (t->on_cpu) {
        __sync_val_compare_and_swap(&p->on_since, 0, now);
        return 0;
    }
    p->state = state;
    p->syscall = -1;
    p->flags = BPF_OFF_STARTED;
    p->runnable = state ? 0 : now;
    __sync_val_compare_and_swap(&p->off_since, 0, now);
    return 0;
}

/* Writes the open interval of every thread that is off-CPU and begins its next piece; writes the
 * CPU time of the others. */
SEC("iter/task")
int dump_threads(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct seq_file *seq = ctx->meta->seq;
    struct bpf_rec_off r;
    struct bpf_rec_thread running;
    if (!t) return 0;
    struct thread *p = bpf_task_storage_get(&threads, t, 0, 0);
    if (!p) return 0;
    uint64_t now = time_now(), start = p->off_since;
    if (!start && !p->on_since) return 0; /* has ended, but its parent does not know yet */
    if (!start || p->on_since) {
        put_thread(&running, BPF_REC_RUNNING, t, p, now);
        running.rest = claim(p, running.on_ns);
        if (bpf_seq_write(seq, &running, sizeof running)) unclaim(p, running.rest);
        return 0;
    }
    put_interval(&r, t, p, start, now);
    r.flags |= BPF_OFF_OPEN;
    if (now <= start) return 0;
    r.rest = claim(p, r.on_ns);
    if (bpf_seq_write(seq, &r, sizeof r)) {
        unclaim(p, r.rest);
        return 0;
    }
    /* If the thread was switched in meanwhile, the switch has reported the interval: the kernel
     * discards the record and runs the program for this thread again. */
    if (__sync_val_compare_and_swap(&p->off_since, start, now) != start) {
        unclaim(p, r.rest);
        return 1;
    }
    p->flags |= BPF_OFF_CONTINUED;
    return 0;
}
