/* collect/collector.h - takes the samples of all processes of a run, from outside of them.
 *
 *   probes ─ rings of the segment ─► collector's thread ─ process: batch, mappings ─► profiles as OTLP ─► the caller
 *
 * The collector makes the segment (probe/segment.h), drains its rings, follows processes from their desk to their end, and
 * hands on what it has of a process when that ends, when its batch is half full and, if asked, every flush_ns. */
#pragma once
#include "agent/batch.h"
#include "agent/config.h"
#include "model/model.h"
#include "probe/segment.h"

typedef struct collector collector;

typedef struct collector_opts {
    size_t size; /* sizeof(collector_opts) */
    uint32_t cpu_hz, max_frames;
    cpu_source source;
    uint64_t wall_ns; /* 0: no rounds of the wall clock */
    bool heap, follow_fork;
    uint64_t heap_bytes;
    uint64_t flush_ns; /* 0: not by time */
    const char *exclude;
    const agent_config *config; /* for the resource: names from the environment */
    /* Gives names to the locations of a model before it is encoded; NULL: they are looked up later. */
    bool (*name)(void *who, model *m, arena *a, err *e);
    /* A part of a process's profile, as OTLP; from the collector's thread.  The caller takes *bytes. */
    void (*profile)(void *who, uint32_t pid, buf *bytes);
    /* A process has ended, or the collector has; `whole`: the process said its farewell.  An exec is another process. */
    void (*process)(void *who, uint32_t pid, bool whole);
    void *who;
} collector_opts;

/* What came of it.  CPU time in ns. */
typedef struct collected {
    uint32_t processes; /* that the probe was in, an exec counted as another */
    uint32_t killed;    /* of these: ended without a farewell */
    uint32_t still;     /* of these: run on */
    uint64_t sampled;   /* CPU time that samples stand for */
    uint64_t startup;   /* used before the probe began: exec and the loader */
    uint64_t unsampled; /* of threads that ended before their first sample */
    uint32_t n_unsampled;
    uint64_t
        remainder; /* behind the last sample of a thread: counted to that sample's stack, and part of `sampled` */
    bool perf, timer; /* where CPU samples came from */
    capture_counts capture;
    uint64_t heap_samples, heap_stacks_lost, heap_live_lost, heap_lost;
    uint64_t no_desk;     /* processes that found no place */
    uint64_t rejected;    /* records in the rings that belong to no process, or make no sense */
    uint64_t nameless;    /* mappings that did not fit a desk */
    uint64_t failed;      /* profiles that could not be made: no memory */
    const char *said[16]; /* sentences of the probes, each once; as long as the collector lives */
    size_t n_said;
    uint64_t own_cpu; /* of the collector's thread */
} collected;

/* Makes the segment; collector_path says where.  NULL: `e` says why. */
NODISCARD collector *collector_open(const collector_opts *o, err *e);
/* For the variable KILN_SEGMENT of the programs. */
const char *collector_path(const collector *c);
/* The descriptor of the segment. */
int collector_fd(const collector *c);
/* The directory that goes with it; NULL: none. */
const char *collector_dir(const collector *c);
/* Starts the thread; again after collector_pause. */
NODISCARD bool collector_start(collector *c, err *e);
/* Ends the thread, after a look at everything.  The number of processes that live. */
uint32_t collector_pause(collector *c);
/* Processes that live, by the thread's last look; ns since their last sample. */
uint32_t collector_alive(const collector *c);
uint64_t collector_idle(const collector *c);

/* Paused: hands on what there is of processes that live, for a caller who leaves and has another process (a fork of
 * itself, with the collector in it) go on. */
void collector_hand_over(collector *c, collected *out);
/* In that other process, before collector_start. */
void collector_take_over(collector *c);

/* Paused or not: ends it.  Processes that live are left alone and no longer read. */
void collector_stop(collector *c, collected *out);
void collector_close(collector *c);
