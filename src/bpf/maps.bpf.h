/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/maps.bpf.h - maps, options and the scratch memory of the programs.  record/bpf_load.c sets
 * sizes and options before the programs are loaded. */
#pragma once
#include "bpf/vmlinux.h"

#include "bpf/shared.h"
#include "unwind/table.h"
#include <bpf/bpf_helpers.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- options: constants for the verifier, which removes code that is not needed ---- */

enum { FILTER_ALL, FILTER_PIDS, FILTER_CGROUP }; /* bpf_filter of record/bpf.h */

const volatile uint32_t filter;
const volatile uint64_t cgroup_id;
const volatile char comm[BPF_COMM];
const volatile uint32_t comm_length; /* bytes to compare, with the final 0 of a whole name */
const volatile bool with_kernel, with_off_cpu, aggregate, ship;
const volatile uint32_t max_frames = BPF_FRAMES_MAX;
const volatile uint32_t copy_bytes = 16 << 10;
const volatile uint64_t off_cpu_min_ns;
const volatile uint64_t period_ns; /* of CPU samples */
const volatile uint64_t ring_quarter;
const volatile uint64_t scheduler_start, scheduler_end; /* its code in the kernel; 0: not known */

enum { LEVEL_UNKNOWN = 0xffff };

/* ---- values that change while the programs run ---- */

uint32_t generation = 1; /* of the stacks that user space remembers */
uint64_t ended;          /* time at which the recording ended; 0: it runs */
uint32_t rules_epoch;    /* changes every second: cached rules are looked up, which stamps tables */
uint32_t cgroup_level = LEVEL_UNKNOWN; /* set by the programs: where ancestors have cgroup_id */
uint64_t keep_ns; /* an interval of d < keep_ns is kept with probability d / keep_ns */
/* Frames between bpf_get_stack and the scheduler at a switch: off_cpu and bpf_trace_run4, and more
 * when others trace switches too. */
uint32_t tracing_frames = 2;

/* ---- values of the programs ---- */

/* Stacks of waits that were handed over in one window of time. */
struct hands {
    uint32_t window, n;
};

static struct hands all_hands;

/* ---- maps ---- */

struct chunk {
    uint64_t v[BPF_CHUNK_WORDS];
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct chunk);
} words SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct bpf_table);
} tables SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct bpf_range);
} ranges SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 16384);
    __type(key, uint32_t);
    __type(value, struct bpf_space);
} spaces SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384); /* preallocated: programs add children */
    __type(key, uint32_t);
    __type(value, uint8_t);
} followed SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 64);
    __type(key, uint32_t);
    __type(value, uint8_t);
} excluded SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4 << 20);
} ring SEC(".maps");

/* Stacks and attributes that user space has, with the generation in which they were sent. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 32768);
    __type(key, uint64_t);
    __type(value, uint32_t);
} known SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, struct bpf_sum_key);
    __type(value, struct bpf_sum);
} sums SEC(".maps");

/* ---- scratch memory ---- */

enum {
    WINDOW_WORDS = 256, /* of the stack, read at once */
    CACHE_SLOTS = 2048,
    CODE_BEFORE = 16,  /* bytes of code before pc */
    CODE_AHEAD = 2032, /* and from pc on; together a power of two */
    BODY_WORDS = 256 + BPF_COPY_MAX / 8 + BPF_PAGE / 8,
};

/* A rule, valid for one publication of a process's mappings. */
struct rule_slot {
    uint64_t pc;
    uint32_t serial, found; /* found: see rules.bpf.h */
};

/* The state of a walk.  It is in the scratch memory, whose content the verifier does not follow: on
 * the stack, each combination of values would be checked separately. */
struct walk {
    uint64_t pc, sp, fp, bx; /* of the current frame */
    uint64_t hash;
    uint64_t lo, bytes; /* the window contains [lo, lo + bytes) */
    uint64_t context;   /* address of the gregs that a signal interrupted; 0: none */
    uint64_t range_start, range_end, range_bias; /* the last mapping */
    uint32_t range_table;
    uint32_t first, n_ranges, serial; /* of the space */
    uint32_t n;                       /* frames in scratch.body */
    uint32_t n_windows, n_looked_up;
    uint8_t exact; /* pc is the next instruction, not a return address */
    uint8_t guess; /* the frame was reached without a rule */
    uint8_t guesses;
    uint8_t end, hand; /* BPF_END_*, BPF_HAND_* */
    uint8_t own;       /* code.bpf.h: the search is still inside the function */
    uint8_t unused[6];
};

/* How a function leaves its frame: code_exit of arch/code.h. */
struct code_exit {
    uint32_t by_fp, reload, reload_at, size, fp, third;
    uint32_t end; /* byte after the instruction to read */
    uint32_t unused;
};

/* Memory of one CPU.  Values of per-CPU maps are limited to 32 KiB, so these are entries of arrays,
 * by the number of the CPU.  on_cpu may interrupt off_cpu, so each has its own. */
struct scratch {
    struct bpf_kernel_counts n;
    uint64_t unique;    /* the last stack that was handed over; user space sets the first */
    uint32_t raised_by; /* thread that raised the interrupt which receives packets; 0: none */
    uint32_t unused;
    struct rule_slot cache[CACHE_SLOTS];
    uint64_t window[WINDOW_WORDS];
    struct {
        struct bpf_rec_attrs head;
        uint64_t body[128]; /* a power of two, for the verifier */
    } attrs;
    struct walk w;
    struct code_exit exit;
    uint8_t code[CODE_BEFORE + CODE_AHEAD]; /* around pc; used as a ring, for the verifier */
    struct bpf_rec_copy head;               /* regs.gpr: registers of the first frame */
    uint64_t body[BODY_WORDS];              /* user and kernel addresses, then the copy */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct scratch);
} scratch_on SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct scratch);
} scratch_off SEC(".maps");

#define SCRATCH(map)                                                                               \
    ({                                                                                             \
        uint32_t cpu_ = bpf_get_smp_processor_id();                                                \
        (struct scratch *)bpf_map_lookup_elem(&(map), &cpu_);                                      \
    })

/* Mixes a word into a hash. */
INLINE uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

/* Wakes the reader only when much is waiting; it also polls. */
INLINE uint64_t wakeup(void)
{
    return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_quarter ? BPF_RB_FORCE_WAKEUP
                                                                      : BPF_RB_NO_WAKEUP;
}
