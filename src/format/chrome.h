/* format/chrome.h - Chromium's trace events, inside; docs/chrome.md has the mapping.
 *
 *   events ─ tracks (pid, tid) ─ pieces (nest.h), packed in a few bytes each ─ samples
 *
 * Events become pieces at once while those of their track come in order of time, as they nearly
 * always do: the memory beside the model is that of the packed pieces.  When a track turns out to be
 * out of order its pieces are thrown away and the text is read once more, for the events of such
 * tracks only; they are kept and sorted. */
#pragma once
#include "format/format.h"
#include "format/json_read.h"
#include "format/nest.h"
#include "format/observe.h"
#include "format/v8.h"

enum {
    CHROME_RECENT = 1024,
    CHROME_MAX_ARGS = 1024,     /* different texts of arguments that are kept */
    CHROME_MAX_ARGS_BYTES = 512 /* of each */
};

/* pid, tid: numbers, mostly; some writers have names there. */
typedef struct chrome_id {
    int64_t number;
    str text; /* n > 0: not a number */
} chrome_id;

typedef struct chrome_process {
    chrome_id pid;
    str name;
    uint32_t first_track, last_track; /* + 1; 0: none */
    uint32_t first_type;              /* of samples, + 1 */
    uint32_t first_cpu;               /* CPU profile, + 1 */
} chrome_process;

typedef enum chrome_kind { CHROME_BEGIN, CHROME_END, CHROME_COMPLETE } chrome_kind;

typedef struct chrome_event {
    int64_t ts, dur; /* ns */
    uint32_t loc, attr;
    chrome_kind kind;
} chrome_event;

typedef struct chrome_sortable {
    chrome_event v;
    uint32_t order; /* in the file */
} chrome_sortable;

typedef struct chrome_track {
    uint32_t process;
    uint32_t next; /* of the same process, + 1 */
    chrome_id tid;
    str name;
    str id; /* of asynchronous events */
    bool async;
    bool unsorted;
    chrome_kind last_kind;
    int64_t last_ts, last_dur, max_ts;
    nest nest;
    VEC(uint8_t) packed; /* pieces */
    uint64_t n_pieces, n_stray, n_flat;
    int64_t piece_end, flat_at;  /* of the last piece, of the last without length */
    VEC(chrome_sortable) events; /* of an unsorted track */
} chrome_track;

/* An event as it stands in the text; views are good until the next one. */
typedef struct chrome_fields {
    char ph;
    bool has_ts;
    int64_t ts, dur, thread_dur; /* ns; dur < 0: not said */
    chrome_id pid, tid;
    str name, category, id;
    json_slice args;
    uint64_t details; /* fields that have no place, ... */
    str detail;       /* ... the first of them */
} chrome_fields;

typedef VEC(char) chrome_kept;

/* A text that stands for itself: name and category of an event, id of a stack frame. */
typedef struct chrome_name {
    str name, category;
    uint32_t loc;
} chrome_name;

typedef struct chrome_frame {
    str id;
    uint32_t parent;    /* + 1; 0: none */
    uint32_t loc, node; /* + 1; 0: not settled */
    bool known, busy;
} chrome_frame;

/* Samples of one name in one process: a profile. */
typedef struct chrome_type {
    uint32_t process;
    str name;
    uint32_t next; /* of the same process, + 1 */
    size_t first, n;
} chrome_type;

typedef struct chrome_sample {
    uint32_t track, type;
    uint32_t frame; /* + 1; 0: none */
    uint32_t order;
    int64_t ts, weight;
    int64_t cpu; /* -1: not said */
} chrome_sample;

/* A CPU profile that comes in pieces. */
typedef struct chrome_cpu {
    uint32_t process, track;
    uint32_t next; /* of the same process, + 1 */
    str id;
    v8_profile v;
} chrome_cpu;

typedef struct chrome_player chrome_player;

typedef struct chrome {
    builder b;
    arena *work;
    nest_tree tree;
    ledger *l;
    uint64_t date; /* Unix ns when the recording began, as the file says; 0: it does not */
    err *e;
    VEC(chrome_process) processes;
    VEC(chrome_track) tracks;
    VEC(chrome_name) names;
    VEC(chrome_frame) frames;
    VEC(chrome_sample) samples;
    VEC(chrome_type) types;
    VEC(chrome_cpu) cpus;
    hash_index process_index, track_index, name_index, frame_index, type_index, cpu_index,
        args_index;
    uint32_t recent[CHROME_RECENT], recent_name[CHROME_RECENT]; /* asked for lately, + 1 */
    uint32_t playing;                                           /* track whose pieces come */
    chrome_player *player;
    bool any_unsorted;       /* the text must be read again */
    bool again;              /* it is being */
    u32s args;               /* attributes that are kept */
    chrome_kept kept[3];     /* name, category and id that had escapes */
    uint8_t next_key[16][2]; /* chrome_event.c: which keys followed which */
    bool rounded;
    uint64_t n_stray, n_unclosed, n_negative, n_odd, n_flat;
} chrome;

/* ---- tracks (chrome_track.c, chrome_play.c) ---- */

/* Finds or adds; UINT32_MAX when out of memory. */
uint32_t chrome_process_of(chrome *c, chrome_id pid);
uint32_t chrome_track_of(chrome *c, chrome_id pid, chrome_id tid);
uint32_t chrome_async_track_of(chrome *c, chrome_id pid, str category, str id);
uint32_t chrome_location(chrome *c, str name, str category);
void chrome_track_init(chrome *c, chrome_track *t);
NODISCARD bool chrome_add(chrome *c, uint32_t track, const chrome_event *v);
/* When all events are there. */
NODISCARD bool chrome_finish_tracks(chrome *c);
/* The attributes of a profile on the clock of the trace; returns how many. */
enum { CHROME_EPOCH_ATTRS = 2 };
size_t chrome_epoch(chrome *c, uint32_t attrs[CHROME_EPOCH_ATTRS]);
/* The attributes of a track's samples: at most 3. */
size_t chrome_track_attrs(chrome *c, const chrome_track *t, uint32_t attrs[3]);
/* Puts the intervals of a process' tracks into a new profile, if there are any. */
NODISCARD bool chrome_put_intervals(chrome *c, uint32_t process, bool async);

/* ---- events (chrome_event.c) ---- */

/* The event whose { was just taken. */
NODISCARD bool chrome_read_event(chrome *c, json *j, chrome_fields *f);
/* pid, tid and other ids: the token just taken. */
NODISCARD bool chrome_id_of(chrome *c, json *j, chrome_id *id);

/* ---- samples and CPU profiles (chrome_samples.c, chrome_cpu.c) ---- */

NODISCARD bool chrome_read_samples(chrome *c, json *j);      /* the array comes next */
NODISCARD bool chrome_read_stack_frames(chrome *c, json *j); /* the object comes next */
/* When all are read: who is whose parent, which sample belongs to which profile. */
NODISCARD bool chrome_settle_samples(chrome *c);
NODISCARD bool chrome_put_samples(chrome *c, uint32_t process);
/* args of Profile, ProfileChunk and CpuProfile events. */
NODISCARD bool chrome_read_cpu(chrome *c, chrome_id pid, chrome_id tid, str id, bool opens,
                               json_slice args);
NODISCARD bool chrome_put_cpus(chrome *c, uint32_t process);

static inline bool chrome_out_of_memory(chrome *c)
{
    return err_set(c->e, ERR_LIMIT, "the memory budget is spent");
}

NODISCARD bool chrome_read(str bytes, const read_opts *o, arena *a, model *out, err *e);
NODISCARD bool chrome_write(const model *m, const write_opts *o, buf *out, err *e);
