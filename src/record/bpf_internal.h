/* record/bpf_internal.h - the state of a BPF source: bpf_load.c opens it, bpf_events.c reads its
 * records, bpf_space.c publishes address spaces. */
#pragma once
#include "record/bpf.h"
#include "record/bpf_stacks.h"

/* The skeleton declares the BPF programs and repeats types of bpf/shared.h in its own form. */
struct kiln_bpf;
struct ring_buffer;
struct bpf_link;
struct bpf_program;

enum {
    SPACE_BLOCK = 16,   /* ranges are allocated in blocks of 16 */
    BPF_LINKS_MAX = 16, /* besides those of the perf events */
};

typedef struct space_extent {
    uint32_t first, n; /* blocks */
} space_extent;

struct bpf_source {
    bpf_opts o;
    struct kiln_bpf *programs;
    struct ring_buffer *ring;
    struct bpf_link *links[BPF_LINKS_MAX];
    size_t n_links;
    struct bpf_link **cpu_links; /* of the perf events */
    size_t n_cpus;
    int stats; /* descriptor that keeps run-time statistics on; -1: none */
    uint64_t period_ns;
    arena a; /* lives as long as the source */

    /* Memory shared with the programs. */
    struct bpf_table *slots;
    struct bpf_range *ranges;
    uint8_t *scratch[2]; /* on_cpu, off_cpu: an entry for each CPU */
    size_t n_words, n_slots, n_ranges, scratch_bytes;
    table_store *tables;

    /* bpf_space.c */
    uint8_t *blocks; /* 1: in use */
    size_t n_blocks;
    VEC(space_extent) retired; /* free after the next grace period */
    size_t n_retired;          /* their blocks */
    uint32_t serial;

    /* bpf_events.c */
    bpf_stacks stacks;
    uint64_t stacks_unknown, finished, ring_bytes;
    size_t drained;                     /* bytes of the ring, in this drain */
    uint64_t rated_at, rated_intervals; /* of the last adjustment of the rate */
    bpf_on_event *on_event;             /* during a drain */
    void *ctx;
};

/* Returns after all runs of BPF programs that began before the call have ended. */
void bpf_grace(void *ctx);

/* Sums the counters of all CPUs. */
struct bpf_kernel_counts bpf_kernel_count(const bpf_source *s);

/* CLOCK_MONOTONIC. */
uint64_t bpf_now(void);

/* bpf_events.c: the ring and the stacks. */
NODISCARD bool bpf_events_open(bpf_source *s, err *e);
void bpf_events_close(bpf_source *s);

/* Runs an iterator over the threads and handles the records that it writes. */
NODISCARD bool bpf_read_iterator(bpf_source *s, struct bpf_program *p, err *e);
