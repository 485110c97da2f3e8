/* format/chrome_write.h - the Chrome writer, inside.
 *
 * A trace tells processes by pid, threads by tid and profiles by the name of their samples; a model may have several of
 * each.  The writer notes what it writes, and what of it a reader will take for one. */
#pragma once
#include "format/chrome.h"
#include "format/lanes.h"

/* In the order in which a reader makes profiles of them. */
typedef enum chrome_kind_out {
    CHROME_AS_EVENTS,
    CHROME_AS_SAMPLES,
    CHROME_AS_ASYNC
} chrome_kind_out;

typedef struct chrome_process_out {
    int64_t pid;
    str text;
    bool events, async; /* has a profile of these */
} chrome_process_out;

typedef struct chrome_thread_out {
    uint32_t process;
    int64_t tid;
    str text, name;
    bool shared; /* with one of another name, or of a number that is its text */
} chrome_thread_out;

typedef struct chrome_profile_out {
    uint32_t profile, process;
    chrome_kind_out kind;
    str name;     /* of its samples */
    size_t first; /* of them, in the file */
} chrome_profile_out;

typedef struct stack_node {
    uint32_t parent, frame; /* parent + 1 */
} stack_node;

/* Samples of all profiles are written in order of time: readers take them thread by thread. */
typedef struct sample_out {
    int64_t ts, weight;
    lane lane;
    uint32_t node, profile, order;
    uint32_t sample, nth; /* of the model */
} sample_out;

typedef struct chrome_writer {
    const model *m;
    json_out j;
    arena work;
    ledger *l;
    lane_frames frames;
    u32s open;
    VEC(stack_node) nodes; /* of stackFrames; ids are index + 1 */
    hash_index index;
    VEC(sample_out) samples;
    int64_t first_time; /* of all samples; 0: none has a time */
    int64_t pid;
    str pid_text; /* instead, for a process that has only a name */
    bool made_up_pid;
    VEC(chrome_process_out) processes;
    VEC(chrome_thread_out) threads;
    VEC(chrome_profile_out) profiles; /* those that leave anything in the file */
    hash_index process_index, thread_index;
    uint32_t process; /* the one at hand */
} chrome_writer;

/* What has no place in a trace, whatever is written. */
void chrome_model_losses(const model *m, ledger *l);

/* Each says what it finds out about the process, thread or profile at hand; false: out of memory. */
NODISCARD bool chrome_note_process(chrome_writer *w, const resource *r);
NODISCARD bool chrome_note_thread(chrome_writer *w, const lane *l);
NODISCARD bool chrome_note_profile(chrome_writer *w, uint32_t profile_i, chrome_kind_out kind,
                                   const lanes *all);
/* Intervals that events can tell: nested ones, with times, on tracks of their own. */
chrome_kind_out chrome_kind_of(chrome_writer *w, const profile *p, const lanes *all);
/* When the samples are in the order of the file. */
NODISCARD bool chrome_profile_losses(chrome_writer *w);
