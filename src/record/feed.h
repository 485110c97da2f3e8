/* record/feed.h - BPF mode of the recorder: publishes the mappings of processes to the BPF programs,
 * completes the walks that these hand over, and turns their events into observations. */
#pragma once
#include "record/internal.h"

typedef struct feed feed;

/* Loads the programs.  Returns NULL on failure; the caller then uses perf events. */
NODISCARD feed *feed_open(recorder *r, err *e);
void feed_close(feed *f);

/* RECORD_PIDS: follows a process and its descendants, and publishes its mappings. */
NODISCARD bool feed_attach(feed *f, uint32_t pid, err *e);
NODISCARD bool feed_start(feed *f, err *e);
/* Ends the recording at a time of CLOCK_MONOTONIC.  Any thread may call it. */
void feed_end(feed *f, uint64_t time);
void feed_stop(feed *f);
int feed_fd(const feed *f);

/* Takes all events.  Call it after the records about processes. */
void feed_drain(feed *f);
/* Also takes the waits that have not ended, as far as they got; `last`: the recording ends. */
void feed_settle(feed *f, bool last);
/* Returns whether the kernel's stacks take much memory, so that feed_settle is due. */
bool feed_is_large(const feed *f);
/* Publishes the mappings of a process and the place of its spans, if they have changed. */
void feed_publish(feed *f, space *s);
/* Called when a process has ended or runs another program. */
void feed_forget(feed *f, uint32_t pid);
/* Adds the counters of the programs to the recorder's. */
void feed_count(feed *f);
/* Returns the duration below which waits are sampled; 0: none were left out. */
uint64_t feed_kept_ns(const feed *f);
