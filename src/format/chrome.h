/* format/chrome.h - internals of the reader of Chromium's trace events (docs/chrome.md).
 *
 *   events ─ tracks (pid, tid) ─ pieces (nest.h), packed in a few bytes each ─ samples
 *
 * While the events of a track arrive in order of time, as they nearly always do, each becomes a
 * piece at once. The reader then needs memory only for the model and the packed pieces. When a
 * track turns out to be unsorted, the reader drops its pieces and reads the text a second time for
 * the events of such tracks only; it stores and sorts them. */
#pragma once
#include "format/format.h"
#include "format/json_read.h"
#include "format/nest.h"
#include "format/observe.h"
#include "format/v8.h"

enum {
    CHROME_RECENT = 1024,
    CHROME_MAX_ARGS = 1024,     /* distinct argument texts that are stored */
    CHROME_MAX_ARGS_BYTES = 512 /* maximum length of each */
};

/* A pid or tid. It is usually a number, but some writers use names. */
typedef struct chrome_id {
    int64_t number;
    str text; /* when n > 0 the id is not a number */
} chrome_id;

typedef struct chrome_process {
    chrome_id pid;
    str name;
    uint32_t first_track, last_track; /* index + 1; 0: none */
    uint32_t first_type, last_type;   /* types of samples; index + 1 */
    uint32_t first_cpu, last_cpu;     /* CPU profiles; index + 1 */
} chrome_process;

typedef enum chrome_kind { CHROME_BEGIN, CHROME_END, CHROME_COMPLETE } chrome_kind;

typedef struct chrome_event {
    int64_t ts, dur; /* ns */
    uint32_t loc, attr;
    chrome_kind kind;
} chrome_event;

typedef struct chrome_sortable {
    chrome_event v;
    uint32_t order; /* position in the file */
} chrome_sortable;

typedef struct chrome_track {
    uint32_t process;
    uint32_t next; /* next track of the same process; index + 1 */
    chrome_id tid;
    str name;
    str id; /* id of asynchronous events */
    bool async;
    bool unsorted;
    chrome_kind last_kind;
    int64_t last_ts, last_dur, max_ts;
    nest nest;
    VEC(uint8_t) packed; /* pieces */
    uint64_t n_pieces, n_stray, n_flat;
    int64_t piece_end, flat_at;  /* end of the last piece; time of the last one of length 0 */
    VEC(chrome_sortable) events; /* events of an unsorted track */
} chrome_track;

/* The fields of an event; strings are valid until the next event is read. */
typedef struct chrome_fields {
    char ph;
    bool has_ts;
    int64_t ts, dur, thread_dur; /* ns; dur < 0: absent */
    chrome_id pid, tid;
    str name, category, id;
    json_slice args;
    uint64_t details; /* number of fields that the model cannot represent ... */
    str detail;       /* ... and the first of them */
} chrome_fields;

typedef VEC(char) chrome_copy;

/* A distinct text: name and category of an event, or id of a stack frame. */
typedef struct chrome_name {
    str name, category;
    uint32_t loc;
} chrome_name;

typedef struct chrome_frame {
    str id;
    uint32_t parent;    /* index + 1; 0: none */
    uint32_t loc, node; /* index + 1; 0: not resolved yet */
    bool known, busy;
} chrome_frame;

/* The samples of one name in one process; they become a profile. */
typedef struct chrome_type {
    uint32_t process;
    str name;
    uint32_t next; /* next type of the same process; index + 1 */
    size_t first, n;
} chrome_type;

typedef struct chrome_sample {
    uint32_t track, type;
    uint32_t frame; /* index + 1; 0: none */
    uint32_t order;
    int64_t ts, weight;
    int64_t cpu; /* -1: absent */
} chrome_sample;

/* A CPU profile that arrives in several events. */
typedef struct chrome_cpu {
    uint32_t process, track;
    uint32_t next; /* next CPU profile of the same process; index + 1 */
    str id;
    v8_profile v;
} chrome_cpu;

typedef struct chrome_player chrome_player;

typedef struct chrome {
    builder b;
    arena *work;
    nest_tree tree;
    ledger *l;
    uint64_t date; /* Unix ns of the start of the recording; 0: not in the file */
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
    uint32_t recent[CHROME_RECENT], recent_name[CHROME_RECENT]; /* recently looked up; index + 1 */
    uint32_t playing; /* track whose pieces are being emitted */
    chrome_player *player;
    bool any_unsorted;       /* the text must be read a second time */
    bool again;              /* this is the second reading */
    u32s args;               /* stored argument attributes */
    chrome_copy copies[3];   /* name, category and id that contained escapes */
    uint8_t next_key[16][2]; /* chrome_event.c: the keys that followed each key */
    bool rounded;
    uint64_t n_stray, n_unclosed, n_negative, n_overlaps, n_flat;
} chrome;

/* ---- tracks (chrome_track.c, chrome_play.c) ---- */

/* Find or add an entry; return UINT32_MAX when out of memory. */
uint32_t chrome_process_of(chrome *c, chrome_id pid);
uint32_t chrome_track_of(chrome *c, chrome_id pid, chrome_id tid);
uint32_t chrome_async_track_of(chrome *c, chrome_id pid, str category, str id);
uint32_t chrome_location(chrome *c, str name, str category);
void chrome_track_init(chrome *c, chrome_track *t);
NODISCARD bool chrome_add(chrome *c, uint32_t track, const chrome_event *v);
/* Call when all events have been read. */
NODISCARD bool chrome_finish_tracks(chrome *c);
/* Stores the attributes of a profile that uses the trace's clock; returns their number. */
enum { CHROME_EPOCH_ATTRS = 2 };
size_t chrome_epoch(chrome *c, uint32_t attrs[CHROME_EPOCH_ATTRS]);
/* Stores the attributes of a track's samples, at most 3; returns their number. */
size_t chrome_track_attrs(chrome *c, const chrome_track *t, uint32_t attrs[3]);
/* Puts the intervals of a process's tracks into a new profile, if there are any. */
NODISCARD bool chrome_put_intervals(chrome *c, uint32_t process, bool async);

/* ---- events (chrome_event.c) ---- */

/* Reads an event whose { has been read. */
NODISCARD bool chrome_read_event(chrome *c, json *j, chrome_fields *f);
/* Converts the token just read to a pid, tid or other id. */
NODISCARD bool chrome_id_of(chrome *c, json *j, chrome_id *id);

/* ---- samples and CPU profiles (chrome_samples.c, chrome_cpu.c) ---- */

NODISCARD bool chrome_read_samples(chrome *c, json *j);      /* reads the array that follows */
NODISCARD bool chrome_read_stack_frames(chrome *c, json *j); /* reads the object that follows */
/* Call when all samples and frames have been read: resolves parents, assigns samples to
 * profiles. */
NODISCARD bool chrome_resolve_samples(chrome *c);
NODISCARD bool chrome_put_samples(chrome *c, uint32_t process);
/* Reads args of Profile, ProfileChunk and CpuProfile events. */
NODISCARD bool chrome_read_cpu(chrome *c, chrome_id pid, chrome_id tid, str id, bool opens,
                               json_slice args);
NODISCARD bool chrome_put_cpus(chrome *c, uint32_t process);

/* The functions read and write of format_chrome. */
NODISCARD bool chrome_read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                           layout_verdict *verdict, err *e);
NODISCARD bool chrome_write(const format *f, const model *m, const write_opts *o, buf *out, err *e);
