/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/lifetime.bpf.h - births and ends of processes, and the iterators over the threads that
 * exist. */
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

/* The entry outlives the threads of the process, whose last switches still belong to it. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(freed, struct task_struct *t)
{
    uint32_t tgid = (uint32_t)t->tgid;
    if (t->pid == t->tgid) bpf_map_delete_elem(&followed, &tgid);
    return 0;
}

/* Without off-CPU intervals; otherwise the last switch of the thread reports its exit. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *t)
{
    struct scratch *s = SCRATCH(scratch_off);
    if (s && selects(t)) report_exit(s, t, NULL);
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
    /* A thread that has ended exists until its parent takes notice. */
    if (!t || (t->__state & TASK_DEAD && !t->on_cpu)) return 0;
    struct thread *p = bpf_task_storage_get(&threads, t, 0, 0);
    if (!p) return 0;
    uint64_t now = time_now(), start = p->off_since;
    if (!start && !p->on_since) return 0; /* it is in its last switch */
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
