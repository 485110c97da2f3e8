/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/filter.bpf.h - decides which threads are recorded.  Runs first in every program. */
#pragma once
#include "bpf/maps.bpf.h"
#include <bpf/bpf_core_read.h>

enum {
    PF_KTHREAD = 0x200000,
    LEVELS_MAX = 64, /* of nested cgroups */
};

/* Returns the id of the ancestor of a cgroup at a level that is not below it. */
INLINE uint64_t ancestor_id(struct cgroup *c, uint32_t level)
{
    uint64_t id = 0;
    if (bpf_core_field_exists(c->ancestors)) {
        struct cgroup *at = NULL;
        bpf_probe_read_kernel(&at, sizeof at,
                              (char *)c + bpf_core_field_offset(c->ancestors) + 8 * level);
        return at ? BPF_CORE_READ(at, kn, id) : 0;
    }
    struct cgroup___5 *old = (void *)c;
    bpf_probe_read_kernel(&id, sizeof id,
                          (char *)c + bpf_core_field_offset(old->ancestor_ids) + 8 * level);
    return id;
}

/* Returns whether the thread is in the cgroup or below it.  The level of the cgroup is found with its
 * first thread: inside a cgroup namespace, user space does not know it. */
INLINE bool in_cgroup(struct task_struct *t)
{
    struct cgroup *c = t->cgroups->dfl_cgrp;
    uint32_t level = cgroup_level;
    if (!c) return false;
    if (level != LEVEL_UNKNOWN) return c->level >= (int)level && ancestor_id(c, level) == cgroup_id;
    for (level = 0; level < LEVELS_MAX; level++) {
        if ((int)level > c->level) return false;
        if (ancestor_id(c, level) != cgroup_id) continue;
        cgroup_level = level;
        return true;
    }
    return false;
}

INLINE bool has_comm(struct task_struct *t)
{
    for (uint32_t i = 0; i < BPF_COMM; i++) {
        if (i >= comm_length) break;
        if (t->comm[i] != comm[i]) return false;
    }
    return true;
}

/* Returns whether the thread is recorded. */
INLINE bool selects(struct task_struct *t)
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

/* The same, while the recording runs. */
INLINE bool accepts(struct task_struct *t) { return !ended && selects(t); }
