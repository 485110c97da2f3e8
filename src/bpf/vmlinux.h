/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/vmlinux.h - the kernel's types, reduced to the fields that the programs read.  The loader
 * relocates each access to the running kernel (CO-RE), so order and gaps do not matter. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int32_t __s32;
typedef int64_t __s64;
typedef __u16 __be16; /* bpf_helper_defs.h names these */
typedef __u32 __be32;
typedef __u32 __wsum;

/* Constants of the kernel's interface (linux/bpf.h). */
enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY, BPF_NOEXIST, BPF_EXIST };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
        flags, sp, ss;
};

struct thread_struct {
    unsigned long fsbase;
};

typedef struct {
    int counter;
} atomic_t;

struct signal_struct {
    atomic_t live;
};

struct kernfs_node {
    uint64_t id;
};

struct cgroup {
    struct kernfs_node *kn;
    int level;
    struct cgroup *ancestors[]; /* since 6.1 */
};

struct cgroup___5 {
    int level;
    uint64_t ancestor_ids[]; /* before 6.1 */
};

struct css_set {
    struct cgroup *dfl_cgrp;
};

struct mm_struct;

struct sched_entity {
    uint64_t sum_exec_runtime;
};

struct task_struct {
    unsigned int __state, flags;
    int on_cpu, pid, tgid;
    void *stack; /* of the kernel */
    struct mm_struct *mm;
    char comm[16];
    struct signal_struct *signal;
    struct css_set *cgroups;
    struct sched_entity se;
    struct thread_struct thread;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

#pragma clang attribute pop

struct bpf_perf_event_data;
