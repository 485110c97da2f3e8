// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The peer of kiln's BPF programs: the kernel walks the frame pointers (bpf_get_stackid), and the
 * samples are counted by stack. */
#include "bpf/vmlinux.h"

#include <bpf/bpf_helpers.h>

enum { BPF_MAP_TYPE_STACK_TRACE = 7, BPF_F_USER_STACK = 1 << 8, FRAMES = 127 };

struct key {
    uint32_t pid, tid;
    int64_t stack;
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1024);
    __type(key, uint32_t);
    __type(value, uint8_t);
} followed SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, 16384);
    __uint(key_size, 4);
    __uint(value_size, 8 * FRAMES);
} stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, struct key);
    __type(value, uint64_t);
} counts SEC(".maps");

uint64_t accepted;

SEC("perf_event")
int peer(struct bpf_perf_event_data *ctx)
{
    uint64_t id = bpf_get_current_pid_tgid(), one = 1;
    uint32_t pid = (uint32_t)(id >> 32);
    if (!pid || !bpf_map_lookup_elem(&followed, &pid)) return 0;
    __sync_fetch_and_add(&accepted, 1);
    struct key k = {pid, (uint32_t)id, bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK)};
    uint64_t *n = bpf_map_lookup_elem(&counts, &k);
    if (n)
        __sync_fetch_and_add(n, 1);
    else
        bpf_map_update_elem(&counts, &k, &one, BPF_ANY);
    return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
