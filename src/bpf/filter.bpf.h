/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/filter.bpf.h - decides which threads are recorded.  Runs first in every program. */
#pragma once
#include "bpf/maps.bpf.h"
#include <bpf/bpf_core_read.h>

enum { PF_KTHREAD = 0x200000 };

/* Returns whether the thread is in the cgroup or below it. */
INLINE bool in_cgroup(struct task_struct *t)
{
    struct cgroup *c = t->cgroups->dfl_cgrp;
    uint32_t level = cgroup_level;
    uint64_t id = 0;
    if (!c || c->level < (int)level) return false;
    if (bpf_core_field_exists(c->ancestors)) {
        struct cgroup *at = NULL;
        bpf_probe_read_kernel(&at, sizeof at,
                              (char *)c + bpf_core_field_offset(c->ancestors) + 8 * level);
        return at && BPF_CORE_READ(at, kn, id) == cgroup_id;
    }
    struct cgroup___5 *old = (void *)c;
    bpf_probe_read_kernel(&id, sizeof id,
                          (char *)c + bpf_core_field_offset(old->ancestor_ids) + 8 * level);
    return id == cgroup_id;
}

INLINE bool has_comm(struct task_struct *t)
{
    for (uint32_t i = 0; i < BPF_COMM; i++) {
        if (i >= comm_length) break;
        if (t->comm[i] != comm_prefix[i]) return false;
    }
    return true;
}

INLINE bool accepts(struct task_struct *t)
{
    uint32_t tgid = (uint32_t)t->tgid;
    if (!tgid || !t->pid) return false;
    if (filter == FILTER_PIDS) {
        if (!bpf_map_lookup_elem(&followed, &tgid)) return false;
    } else {
        if (!with_kernel && t->flags & PF_KTHREAD) return false;
        if (filter == FILTER_CGROUP && !in_cgroup(t)) return false;
        if (bpf_map_lookup_elem(&excluded, &tgid)) return false;
    }
    return !comm_length || has_comm(t);
}
