/* agent/profiles.h - converts a batch to a model: one Profile for each kind of sample.
 *
 *   CPU    cpu/nanoseconds     observations with equal stack, thread, span and attributes are one sample,
 *   wall   wall/nanoseconds    with a value and a timestamp each
 *   off-CPU off_cpu/nanoseconds
 *   heap   alloc_objects, alloc_space (since the previous batch), inuse_objects, inuse_space (now)
 *   logs   samples/count       input of the Splunk writer: one sample per observation, with the metadata
 *                              of its thread (docs/splunk.md) */
#pragma once
#include "agent/batch.h"
#include "agent/heap_rows.h"
#include "agent/images.h"
#include "model/model.h"

typedef enum profiles_style {
    PROFILES_OTLP,
    PROFILES_TEXT,  /* wall-clock samples as log records with text */
    PROFILES_PPROF, /* wall-clock samples as log records with pprof */
} profiles_style;

enum { PROFILES_LOSSES = 24 };

/* An attribute of the first profile: what the recorder lost. */
typedef struct profiles_loss {
    const char *key;
    uint64_t n;
} profiles_loss;

typedef struct profiles_in {
    const batch *batch;
    const images *images;
    keyvalues resource;
    str scope;        /* name of the instrumentation scope; "": kiln.agent */
    str kernel_id;    /* GNU build id of the running kernel, in hex; "": not known */
    uint64_t min_ns;  /* off-CPU: shorter waits are left out */
    uint64_t keep_ns; /* off-CPU: shorter waits are sampled in proportion to their duration */
    const profiles_loss *losses; /* of `kiln record`; at most PROFILES_LOSSES */
    size_t n_losses;
    const str *keys; /* names of the attributes of thread contexts */
    size_t n_keys;
    const heap_rows *heap; /* NULL: none */
    uint32_t cpu_hz;
    uint64_t wall_ns;
    profiles_style style;
    size_t first, limit; /* logs: at most `limit` wall-clock samples, from `first` on */
    uint64_t boot;       /* Unix ns when the machine started; 0: not known */
    uint64_t ticks;      /* clock ticks per second (_SC_CLK_TCK) */
    uint64_t now;        /* Unix ns when the log records are built */
} profiles_in;

/* Builds *out in `a`; it refers to strings of the inputs.  n_profiles is 0 when there are no
 * samples.  Fails with ERR_MEMORY when the arena's budget is exhausted. */
NODISCARD bool profiles_make(const profiles_in *in, arena *a, model *out, err *e);

/* Writes the metadata of a thread that follows its name to `out`: `#7 prio=0 os_prio=0 cpu=0.12ms
 * ...`. */
void profiles_thread_text(const agent_sample *s, const agent_thread *t, uint64_t boot,
                          uint64_t ticks, char *out, size_t cap);
/* Returns the name of a state as in wire/thread_state.h ("RUNNING", "SLEEPING", …); "UNKNOWN" for
 * other letters. */
const char *profiles_state_name(char state);
