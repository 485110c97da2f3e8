/* agent/wall_scan.h - a round, shared by its two parts: wall_scan.c takes the stacks of waiting
 * threads and selects the threads to signal; wall.c signals them and writes the round. */
#pragma once
#include "agent/blocked.h"
#include "agent/wall.h"

typedef enum entry_status {
    ENTRY_SKIPPED,   /* ended, belongs to the agent, or excluded */
    ENTRY_UNCHANGED, /* has not run: its last stack is valid */
    ENTRY_WALKED,    /* waits: its stack was taken without a signal */
    ENTRY_BLOCKED,   /* blocks the signal, and runs or cannot be read */
    ENTRY_STUCK,     /* has not responded to an earlier round, is stopped, or changes constantly */
    ENTRY_TO_SIGNAL,
    ENTRY_SIGNALLED, /* its slot is armed */
    ENTRY_SAMPLED,
} entry_status;

/* One thread in one round. */
typedef struct round_entry {
    thread_record *t;
    uint64_t time, cpu;
    uint32_t stack, link, attrs; /* indexes in the cache; stack NO_THREAD: none */
    uint32_t slot;
    entry_status status;
    char state;
    char wchan[TASK_WCHAN];
} round_entry;

enum { WALL_LEFT = 32 };

struct wall {
    wall_opts o;
    batch *cache;
    /* caches of forked parents; referenced so that a sanitizer reports no leaks */
    batch *left[WALL_LEFT];
    unsigned n_left;
    uint32_t cache_number;
    uint32_t round;
    uint64_t time; /* Unix ns of the round */
    uint64_t tick; /* number of rounds due so far */
    memory self; /* reads this process through the kernel, so that unmapped memory does not fault */
    void *copy;  /* copy of a stack, BLOCKED_COPY bytes */
    raw_sample *raw;
    uint32_t *tids;
    round_entry *entries;
    size_t n;
    uint32_t next_slot, slots_used;
    uint32_t target; /* value of slots_done when all signalled threads have responded */
};

/* Fills entries[] in order of tid: the threads, and how each is sampled.  Returns false when /proc
 * cannot be read. */
NODISCARD bool wall_scan(wall *w, capture_counts *n);

/* Counts how a stack ended and stores it with its context in the cache, for this entry and later
 * rounds.  A full cache stores no stack. */
void wall_store(wall *w, const raw_sample *raw, round_entry *s, capture_counts *n);
