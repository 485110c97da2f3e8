/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/shared.h - layouts that the BPF programs and record/bpf*.c share: tables, address spaces,
 * records of the ring, counters.  Plain C for both compilers; all sizes are multiples of 8. */
#pragma once
#ifndef __bpf__
#include <stdint.h>
#endif

enum {
    BPF_FRAMES_MAX = 127,
    BPF_COPY_MAX = 64 << 10,
    BPF_PAGE = 4096,
    BPF_CHUNK_WORDS = 512, /* words of a value of the array `words` */
    BPF_ATTRS_MAX = 612,   /* bytes of attributes of a thread context */
    BPF_COMM = 16,
};

/* ---- unwind tables ---- */

#define BPF_TABLE_NONE 0xffffffffu

enum {
    BPF_TABLE_ABSENT, /* not loaded, or evicted: walks are handed over */
    BPF_TABLE_READY,  /* may have no rows: a file without .eh_frame */
};

/* The slot of a file.  A bucket is the word first | end << 32 of the rows to search, a row is the
 * word pc | rule << 32 (unwind/table.h), a wide rule takes BPF_WIDE_WORDS words. */
struct bpf_table {
    uint64_t base;                     /* unwind_table.base */
    uint32_t buckets, rows, wide;      /* positions in `words` */
    uint32_t n_buckets, n_rows, shift; /* n_buckets: pairs, one less than in unwind_table */
    uint32_t state; /* BPF_TABLE_*; written last when loaded, first when evicted */
    uint32_t used;  /* seconds, CLOCK_MONOTONIC: stamped by walks */
};

enum { BPF_WIDE_WORDS = 3 };

/* wide_rule of unwind/table.h, padded. */
struct bpf_wide {
    uint8_t reg, deref, fp, third;
    int32_t offset, add, fp_at, third_at, unused;
};

/* ---- address spaces ---- */

struct bpf_range {
    uint64_t start, end, bias;
    uint32_t table; /* BPF_TABLE_NONE: none */
    uint32_t unused;
};

enum { BPF_SPAN_NONE, BPF_SPAN_STATIC, BPF_SPAN_GLIBC, BPF_SPAN_MUSL };

/* Value of the map `spaces`: the mappings of a process and the place of its thread contexts. */
struct bpf_space {
    uint32_t first, n;
    uint32_t serial; /* different for every publication; 0 is not used */
    uint32_t span;   /* BPF_SPAN_* */
    int64_t span_offset;
    uint64_t span_module;
};

/* ---- stacks ---- */

/* Same values as unwind_end; the kernel knows more. */
enum {
    BPF_END_WHOLE,
    BPF_END_CAPPED,
    BPF_END_NO_RULE,
    BPF_END_UNREADABLE,
    BPF_END_NO_PROGRESS,
    BPF_END_NO_REGISTER,
};

/* bpf_why of record/bpf.h: the reason of a hand-over; 0: the kernel finished the walk. */
enum { BPF_HAND_NONE, BPF_HAND_SPACE, BPF_HAND_TABLE, BPF_HAND_CODE, BPF_HAND_REGISTER };

enum {
    BPF_REG_EXACT = 1,   /* pc is the next instruction, not a return address */
    BPF_REG_CONTEXT = 2, /* all general registers are valid: the first frame */
};

/* Registers of the frame at which the walk stopped.  gpr[] in DWARF order: ax dx cx bx si di bp sp
 * r8 .. r15. */
struct bpf_regs {
    uint64_t pc, sp, fp, bx;
    uint64_t gpr[16];
};

/* ---- records of the ring ---- */

enum {
    BPF_REC_STACK = 1,
    BPF_REC_COPY,
    BPF_REC_ATTRS,
    BPF_REC_CPU,
    BPF_REC_OFF,
    BPF_REC_EXIT,
    BPF_REC_RUNNING,
};

/* Ids of stacks that were handed over are unique and have this bit. */
#define BPF_STACK_UNIQUE (1ull << 63)

/* A new stack: n_user and n_kernel addresses follow. */
struct bpf_rec_stack {
    uint32_t kind, tgid, tid;
    uint8_t end, n_user, n_kernel, guesses; /* end: BPF_END_* */
    uint64_t id;
};

/* A stack that was handed over: n_user and n_kernel addresses follow, then the copy.  The stack is
 * the last member, so that both kinds of records are built in one place. */
struct bpf_rec_copy {
    uint32_t kind;
    uint32_t hand, flags; /* BPF_HAND_*, BPF_REG_* */
    uint32_t bytes;       /* of the copy */
    uint64_t base;        /* address of its first byte */
    struct bpf_regs regs;
    struct bpf_rec_stack stack;
};

/* Attributes of a thread context: `bytes` follow, padded to a multiple of 8. */
struct bpf_rec_attrs {
    uint32_t kind, bytes;
    uint64_t id;
};

/* A thread context; attrs: id of a bpf_rec_attrs, 0: none. */
struct bpf_ids {
    uint8_t trace_id[16], span_id[8];
    uint8_t trace_flags, has; /* has = 0: the rest is zero */
    uint8_t unused[6];
    uint64_t attrs;
};

struct bpf_rec_cpu {
    uint32_t kind, tgid, tid, unused;
    uint64_t time, stack, on_ns;
    uint64_t value; /* CPU time that the sample represents */
    struct bpf_ids ids;
    char comm[BPF_COMM];
};

enum {
    BPF_OFF_STARTED = 1,   /* blocked when the recording began */
    BPF_OFF_OPEN = 2,      /* a piece: the interval continues */
    BPF_OFF_CONTINUED = 4, /* an earlier piece was reported */
    BPF_OFF_WOKEN = 8,     /* the waker is known */
    BPF_OFF_INTERRUPT = 16 /* an interrupt woke the thread */
};

/* The waker is stored as one piece, to copy it in few instructions. */
struct bpf_waking {
    uint32_t tgid, tid;
    char comm[BPF_COMM];
};

struct bpf_rec_off {
    uint32_t kind, tgid, tid, flags; /* BPF_OFF_* */
    uint64_t start, end, runnable;   /* runnable: time; 0: never before the end */
    uint64_t value;                  /* end - start, or keep_ns */
    uint64_t stack, on_ns;
    uint64_t rest; /* BPF_OFF_OPEN: CPU time that no sample represents */
    uint64_t since, short_count, short_ns;
    uint32_t state; /* task->__state; 0: runnable */
    int32_t syscall;
    struct bpf_ids ids;
    struct bpf_waking waker;
};

/* BPF_REC_EXIT and BPF_REC_RUNNING. */
struct bpf_rec_thread {
    uint32_t kind, tgid, tid, last;
    uint64_t time, since, on_ns, short_count, short_ns;
    uint64_t rest; /* CPU time that no sample represents */
    char comm[BPF_COMM];
};

/* Returns whether an interval of `d` ns is reported: with probability d / keep_ns, if it is shorter
 * than keep_ns.  24 random bits are used, so that the product cannot overflow. */
#define BPF_KEEP_MAX (1ull << 40)
static inline int bpf_keeps(uint64_t d, uint64_t keep_ns, uint32_t random)
{
    return keep_ns * (random >> 8) >> 24 < d;
}

/* ---- counts in the kernel ---- */

struct bpf_sum_key {
    uint32_t tgid, tid;
    uint64_t stack;
};

struct bpf_sum {
    uint64_t count, first, value;
    char comm[BPF_COMM];
};

/* Name and description.  The names are those of bpf_counts (record/bpf.h). */
#define BPF_KERNEL_COUNTERS(X)                                                                     \
    X(runs, "runs of the sampling programs")                                                       \
    X(accepted, "runs for processes that are recorded")                                            \
    X(samples, "CPU samples")                                                                      \
    X(intervals, "off-CPU intervals reported")                                                     \
    X(short_intervals, "off-CPU intervals shorter than the minimum")                               \
    X(short_ns, "their time, in ns")                                                               \
    X(sampled_away, "off-CPU intervals left out to limit the rate; others stand for them")         \
    X(sampled_away_ns, "their time, in ns")                                                        \
    X(missed, "switches that the kernel did not report; their time is derived from its own clock") \
    X(exits, "threads that ended")                                                                 \
    X(lost_samples, "CPU samples lost: the ring was full")                                         \
    X(lost_intervals, "off-CPU intervals lost: the ring was full")                                 \
    X(lost_interval_ns, "their value, in ns")                                                      \
    X(lost_cpu_ns, "CPU time of lost samples and exits that no other sample represents, in ns")    \
    X(lost_stacks, "stacks lost: the ring was full")                                               \
    X(lost_attrs, "span attributes lost: the ring was full")                                       \
    X(lost_exits, "exits lost: the ring was full")                                                 \
    X(whole, "stacks complete up to the first function")                                           \
    X(capped, "stacks truncated at the frame limit")                                               \
    X(no_rule, "stacks that end in code without a rule")                                           \
    X(unreadable, "stacks that end at memory that cannot be read")                                 \
    X(no_progress, "stacks whose next frame is not further up")                                    \
    X(no_space, "stacks handed over: the mappings of the process are not known yet")               \
    X(no_table, "stacks handed over: no unwind table for the object")                              \
    X(code, "stacks handed over: the code has to be read")                                         \
    X(no_register, "stacks handed over: a register is not known in the frame")                     \
    X(stacks_cut, "stacks of waits that were not handed over, because too many others were")       \
    X(no_user, "samples without a user stack: kernel threads, 32-bit programs")                    \
    X(frames, "user frames")                                                                       \
    X(guesses, "frames left by the frame pointer, without a rule")                                 \
    X(windows, "reads of stack memory")                                                            \
    X(looked_up, "rules found in tables; the others were cached")                                  \
    X(new_stacks, "stacks sent once, because they were new")                                       \
    X(spans, "span records read")                                                                  \
    X(spans_torn, "span records that were not valid, or changed while they were read")             \
    X(not_followed, "processes not recorded: the map of followed processes was full")              \
    X(storage_failed, "threads without storage: the kernel had no memory")                         \
    X(aggregate_failed, "CPU samples sent one by one: the map of counts was full")

struct bpf_kernel_counts {
#define X(name, what) uint64_t name;
    BPF_KERNEL_COUNTERS(X)
#undef X
};
