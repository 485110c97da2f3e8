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

/* The record of a stack: the iterator may not use the scratch memory, which a switch on the same CPU
 * uses at the same time. */
struct initial_stack {
    struct bpf_rec_stack head;
    uint64_t kernel[128]; /* BPF_FRAMES_MAX; a power of two, for the verifier */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct initial_stack);
} initial_stacks SEC(".maps");

/* A global function, as hash_kernel. */
__attribute__((noinline)) uint64_t hash_initial(struct initial_stack *s, uint32_t n)
{
    uint64_t h = mix(0, 0);
    if (!s) return h;
    for (uint32_t i = 0; i < BPF_FRAMES_MAX; i++) {
        if (i >= n) break;
        h = mix(h, s->kernel[i % 128]);
    }
    return mix(h, BPF_END_WHOLE) & ~BPF_STACK_UNIQUE;
}

/* Writes the kernel stack of a thread that waits, without the functions of the scheduler, and sets
 * *id; 0: there is none.  Returns false when the buffer is full: the kernel runs the program for this
 * thread again. */
INLINE bool write_initial(struct seq_file *seq, struct task_struct *t, uint64_t *id)
{
    uint32_t zero = 0;
    struct initial_stack *s = bpf_map_lookup_elem(&initial_stacks, &zero);
    long got = s ? bpf_get_task_stack(t, s->kernel, 8 * BPF_FRAMES_MAX, 0) : 0;
    if (!s || got < 8 || got > 8 * BPF_FRAMES_MAX) return true;
    uint32_t n = (uint32_t)got / 8;
    s->head = (struct bpf_rec_stack){.kind = BPF_REC_STACK,
                                     .tgid = (uint32_t)t->tgid,
                                     .tid = (uint32_t)t->pid,
                                     .n_kernel = (uint8_t)n,
                                     .id = hash_initial(s, n)};
    *id = s->head.id;
    return !bpf_seq_write(seq, s, sizeof s->head + 8 * n);
}

/* Creates the state of threads that exist when the recording begins, and writes the kernel stacks of
 * those that wait. */
SEC("iter/task")
int list_threads(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct seq_file *seq = ctx->meta->seq;
    uint64_t stack = 0;
    if (!t || t->__state & TASK_DEAD || !accepts(t)) return 0;
    struct thread *p = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!p || p->since) return 0; /* a switch has already been seen */
    if (with_kernel && !t->on_cpu && !write_initial(seq, t, &stack)) return 0;
    uint64_t now = bpf_ktime_get_ns();
    uint32_t state = t->__state & 0xffff;
    p->since = now;
    if (t->on_cpu) {
        __sync_val_compare_and_swap(&p->on_since, 0, now);
        return 0;
    }
    p->state = state;
    p->syscall = syscall_of(t);
    p->stack = stack;
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
