/* format/chrome_write.h - internals of the Chrome writer.
 *
 * A trace distinguishes processes by pid, threads by tid and profiles by the name of their samples,
 * but those of a model may be equal. The writer records which of them a reader will merge. */
#pragma once
#include "format/chrome.h"
#include "format/lanes.h"

/* Kinds of output, in the order in which a reader creates their profiles. */
typedef enum chrome_kind_out {
    CHROME_AS_EVENTS,
    CHROME_AS_SAMPLES,
    CHROME_AS_ASYNC
} chrome_kind_out;

typedef struct chrome_process_out {
    int64_t pid;
    str text;
    bool events, async; /* the process has a profile of events, of asynchronous events */
} chrome_process_out;

typedef struct chrome_thread_out {
    uint32_t process;
    int64_t tid;
    str text, name;
    bool shared; /* a thread with another name, or a number equal to its text, has the same tid */
} chrome_thread_out;

typedef struct chrome_profile_out {
    uint32_t profile, process;
    chrome_kind_out kind;
    str name;     /* name of its samples */
    size_t first; /* index of its first sample in the file */
} chrome_profile_out;

typedef struct stack_node {
    uint32_t parent, frame; /* parent: index + 1 */
} stack_node;

/* A sample of the output. Samples of all profiles are sorted by time, because readers process them
 * thread by thread. */
typedef struct sample_out {
    int64_t ts, weight;
    lane lane;
    uint32_t node, profile, order;
    uint32_t sample, nth; /* sample in the model, and its observation */
} sample_out;

typedef struct chrome_writer {
    const model *m;
    json_out j;
    arena work;
    ledger *l;
    lane_frames frames;
    u32s open;
    VEC(stack_node) nodes; /* entries of stackFrames; ids are index + 1 */
    hash_index index;
    VEC(sample_out) samples;
    int64_t first_time; /* the earliest time of all samples; 0: no sample has a time */
    int64_t pid;
    str pid_text; /* replaces the pid of a process that has only a name */
    bool generated_pid;
    VEC(chrome_process_out) processes;
    VEC(chrome_thread_out) threads;
    VEC(chrome_profile_out) profiles; /* profiles that have output in the file */
    hash_index process_index, thread_index;
    uint32_t process; /* the current process */
} chrome_writer;

/* Records what no trace can represent. */
void chrome_model_losses(const model *m, ledger *l);

/* Each records losses of the current process, thread or profile. Returns false if out of memory. */
NODISCARD bool chrome_note_process(chrome_writer *w, const resource *r);
NODISCARD bool chrome_note_thread(chrome_writer *w, const lane *l);
NODISCARD bool chrome_note_profile(chrome_writer *w, uint32_t profile_i, chrome_kind_out kind,
                                   const lanes *all);
/* Returns the kind of output: events if the intervals nest, have times and use separate tracks. */
chrome_kind_out chrome_kind_of(chrome_writer *w, const profile *p, const lanes *all);
/* Call when the samples are sorted. */
NODISCARD bool chrome_profile_losses(chrome_writer *w);
