/* agent/profiles.h - a batch as a model: one Profile a kind of sample.
 *
 *   CPU    cpu/nanoseconds     observations of the same stack, thread, span and attributes are one sample
 *   wall   wall/nanoseconds    with a value and a timestamp each
 *   heap   alloc_objects, alloc_space (since the batch before), inuse_objects, inuse_space (now)
 *   logs   samples/count       what the Splunk writer makes records of: one sample an observation, with
 *                              the metadata of its thread (splunk-profiling.md, section 6) */
#pragma once
#include "agent/batch.h"
#include "agent/heap_rows.h"
#include "agent/images.h"
#include "model/model.h"

typedef enum profiles_style {
    PROFILES_OTLP,
    PROFILES_TEXT,  /* wall as log records with text */
    PROFILES_PPROF, /* wall as log records with pprof */
} profiles_style;

typedef struct profiles_in {
    const batch *batch;
    const images *images;
    keyvalues resource;
    const str *keys; /* names of the thread context's attributes */
    size_t n_keys;
    const heap_rows *heap; /* NULL: none */
    uint32_t cpu_hz;
    uint64_t wall_ns;
    profiles_style style;
    size_t first, limit; /* logs: of the wall samples those from `first` on, at most `limit` */
    uint64_t boot;       /* Unix ns when the machine started; 0: not known */
    uint64_t ticks;      /* a second: _SC_CLK_TCK */
    uint64_t now;        /* Unix ns: when the records are made */
} profiles_in;

/* *out lies in `a` and views strings of the inputs.  n_profiles == 0 when there is nothing to say.
 * ERR_LIMIT at the arena's budget. */
NODISCARD bool profiles_make(const profiles_in *in, arena *a, model *out, err *e);

/* The metadata line of a thread behind its name: `#7 prio=0 os_prio=0 cpu=0.12ms ...`. */
void profiles_thread_text(const agent_sample *s, const agent_thread *t, uint64_t boot,
                          uint64_t ticks, char *out, size_t cap);
/* Our word of wire/thread_state.h, "RUNNING", "SLEEPING" ...; "UNKNOWN" for a letter nobody knows. */
const char *profiles_state_name(char state);
