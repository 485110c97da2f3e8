/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/on_cpu.bpf.h - a CPU sample, taken by a timer of each CPU. */
#pragma once
#include "bpf/filter.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/thread.bpf.h"

/* Counts the sample in the kernel.  Returns false when the map is full. */
INLINE bool add_up(const struct bpf_rec_cpu *r)
{
    struct bpf_sum_key key = {.tgid = r->tgid, .tid = r->tid, .stack = r->stack};
    struct bpf_sum *old = bpf_map_lookup_elem(&sums, &key);
    if (old) {
        __sync_fetch_and_add(&old->count, 1);
        __sync_fetch_and_add(&old->value, r->value);
        return true;
    }
    struct bpf_sum first = {.count = 1, .first = r->time, .value = r->value};
    __builtin_memcpy(first.comm, r->comm, sizeof first.comm);
    return !bpf_map_update_elem(&sums, &key, &first, BPF_NOEXIST);
}

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *ctx)
{
    struct task_struct *t = bpf_get_current_task_btf();
    struct scratch *s = SCRATCH(scratch_on);
    if (!s) return 0;
    s->n.runs++;
    if (!accepts(t)) return 0;
    s->n.accepted++;
    uint32_t tgid = (uint32_t)t->tgid;
    struct bpf_space *space = bpf_map_lookup_elem(&spaces, &tgid);
    struct bpf_rec_cpu r = {.kind = BPF_REC_CPU, .tgid = tgid, .tid = (uint32_t)t->pid};
    r.time = bpf_ktime_get_ns();
    struct thread *p = with_off_cpu ? bpf_task_storage_get(&threads, t, 0, 0) : NULL;
    r.value = period_ns;
    if (p) {
        r.on_ns = thread_on_ns(p, r.time);
        r.value = claim(p, r.on_ns);
        if (!r.value) return 0; /* the last sample had no time to pass */
    }
    r.stack = take_stack(ctx, s, t, space, NULL, 0);
    if (space) read_span(s, t, space, &r.ids);
    bpf_get_current_comm(r.comm, sizeof r.comm);
    s->n.samples++;
    if (aggregate && !r.ids.has && !(r.stack & BPF_STACK_UNIQUE)) {
        if (add_up(&r)) return 0;
        s->n.aggregate_failed++;
    }
    if (bpf_ringbuf_output(&ring, &r, sizeof r, wakeup())) {
        s->n.lost_samples++;
        if (p)
            unclaim(p, r.value); /* the next sample represents it */
        else
            s->n.lost_cpu_ns += r.value;
    }
    return 0;
}
