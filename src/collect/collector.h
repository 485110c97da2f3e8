/* collect/collector.h - collects the samples of all processes of `kiln run`, in the process of
 * kiln.
 *
 *   probes ─ rings of the segment ─► collector thread ─ process: batch, mappings ─► profiles as OTLP ─► the caller
 *
 * The collector creates the segment (probe/segment.h), drains its rings and follows processes from
 * their slot to their end.  It delivers the samples of a process when the process ends, when its
 * batch is half full and, if requested, every flush_ns. */
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
    uint64_t wall_ns; /* 0: no wall-clock samples */
    bool heap, follow_fork;
    uint64_t heap_bytes;
    uint64_t flush_ns; /* interval of deliveries; 0: none */
    const char *exclude;
    const agent_config *config; /* for the resource: names from the environment */
    /* Adds names to the locations of a model before it is encoded; NULL: the caller adds them
     * later. */
    bool (*name)(void *ctx, model *m, arena *a, err *e);
    /* Receives a part of a process's profile, as OTLP.  Called from the collector thread; the
     * callback owns *bytes. */
    void (*profile)(void *ctx, uint32_t pid, buf *bytes);
    /* Called when a process or the collector has ended.  `whole`: the process sent its exit
     * notice.  An exec starts another process. */
    void (*process)(void *ctx, uint32_t pid, bool whole);
    void *ctx;
} collector_opts;

/* The result of a run.  CPU times are in ns. */
typedef struct collected {
    uint32_t processes; /* processes with the probe; an exec counts as another process */
    uint32_t killed;    /* processes that ended without an exit notice */
    uint32_t still;     /* processes that are still running */
    uint64_t sampled;   /* CPU time that samples represent */
    uint64_t startup;   /* CPU time before the probe began: exec and the loader */
    uint64_t unsampled; /* CPU time of threads that ended before their first sample */
    uint32_t n_unsampled;
    /* CPU time after the last sample of a thread; it is added to that sample and is part of
     * `sampled` */
    uint64_t remainder;
    bool perf, timer; /* sources of CPU samples */
    capture_counts capture;
    uint64_t heap_samples, heap_stacks_lost, heap_live_lost, heap_lost;
    uint64_t no_slot;  /* processes that found no free slot */
    uint64_t rejected; /* records in the rings that do not belong to a process, or are invalid */
    uint64_t nameless; /* mappings that did not fit into a process slot */
    uint64_t failed;   /* profiles that could not be built: no memory */
    const char
        *messages[16]; /* messages of the probes, each once; valid as long as the collector */
    size_t n_messages;
    uint64_t own_cpu; /* CPU time of the collector thread */
} collected;

/* Creates the segment at collector_path.  Returns NULL on failure; `e` has the reason. */
NODISCARD collector *collector_open(const collector_opts *o, err *e);
/* Returns the value of KILN_SEGMENT for the programs. */
const char *collector_path(const collector *c);
/* Returns the descriptor of the segment. */
int collector_fd(const collector *c);
/* Returns the directory created for the segment, or NULL. */
const char *collector_dir(const collector *c);
/* Starts the thread, also after collector_pause. */
NODISCARD bool collector_start(collector *c, err *e);
/* Ends the thread after a last drain.  Returns the number of live processes. */
uint32_t collector_pause(collector *c);
/* Return the number of live processes at the last check, and the ns since their last sample. */
uint32_t collector_alive(const collector *c);
uint64_t collector_idle(const collector *c);

/* Called when paused: delivers the samples of live processes, for a caller that ends while another
 * process (a fork with the same collector) continues. */
void collector_hand_over(collector *c, collected *out);
/* Called in that other process, before collector_start. */
void collector_take_over(collector *c);

/* Ends the collector, paused or not.  Live processes continue and are no longer read. */
void collector_stop(collector *c, collected *out);
void collector_close(collector *c);
