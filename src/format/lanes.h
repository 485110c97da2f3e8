/* format/lanes.h - splits a profile into lanes: one per thread, observations ordered by time. Pure.
 *
 * For writers of formats that have threads and time but no attributes: speedscope, Chrome. */
#pragma once
#include "model/ledger.h"
#include "model/model.h"
#include "base/hash.h"
#include "wire/json.h"

typedef struct lane_item {
    uint64_t time;
    int64_t value;
    uint32_t stack, lane;
    uint32_t args;        /* attribute kiln.event.args; 0: none */
    uint32_t order;       /* position of the observation in the profile */
    uint32_t depth;       /* number of frames of the stack */
    uint32_t sample, nth; /* the sample, and the index of its observation */
} lane_item;

typedef struct lane {
    str name; /* thread.name */
    str id;   /* kiln.event.id: the lane is a track of asynchronous events instead of a thread */
    int64_t tid;
    bool has_tid;
    size_t first, n; /* range of lanes.items */
} lane;

typedef struct lanes {
    VEC(lane) v;
    VEC(lane_item)
    items;          /* lane by lane, ordered by time; at equal times, length 0 and shallow first */
    bool timed;     /* the profile has times; otherwise only the order is known */
    bool all_timed; /* every observation has a time */
} lanes;

/* Returns the lanes in order of first appearance; none for a profile without samples. */
NODISCARD bool lanes_of(const model *m, const profile *p, arena *a, lanes *out, err *e);

/* ---- frames ---- */

/* A frame of the target format: the properties that distinguish frames there. */
typedef struct lane_frame {
    str name, file, category;
    int64_t line, column;
} lane_frame;

typedef struct lane_frames {
    const model *m;
    arena *a;
    ledger *l;       /* records addresses that are used as names; may be NULL */
    bool places;     /* frames have file, line and column */
    bool categories; /* frames have a category */
    VEC(lane_frame) v;
    hash_index index;
    u32s expanded;         /* frames of all locations so far, root first */
    uint32_t *of_location; /* index + 1 in `expanded`; 0: not created yet */
    u32s stack;            /* result of lane_frames_of() */
} lane_frames;

NODISCARD bool lane_frames_init(lane_frames *f);
/* Stores the frames of a stack, root first, in f->stack; inlined lines become separate frames.
 * Returns false when out of memory. */
NODISCARD bool lane_frames_of(lane_frames *f, uint32_t stack);

/* ---- attributes ---- */

/* Returns the value of the attribute with this key in a list, or NULL. */
const any *lane_attr(const dict *d, const uint32_t *attrs, size_t n, const char *key);
const any *lane_profile_attr(const model *m, const profile *p, const char *key);
const any *lane_scope_attr(const keyvalues *attrs, const char *key);
static inline bool lane_is_true(const any *v) { return v && v->kind == ANY_BOOL && v->i; }
static inline str lane_text(const any *v)
{
    return v && v->kind == ANY_STRING ? any_str(v) : (str){0};
}

/* ---- text ---- */

/* Writes v / 10^scale as a number. */
void lane_put_decimal(json_out *o, int64_t v, int scale);

/* ---- losses ---- */

/* Records the data of a model that a format with only frames, threads and values cannot represent.
 * The caller lists the keys of the profile, sample, scope and resource attributes that it writes
 * itself; an entry without a key ends the list. */
typedef struct lane_key {
    const char *key;
    any_kind kind; /* values of another kind, empty texts and values with a unit are lost */
} lane_key;
typedef struct lane_carries {
    const lane_key *profile, *sample, *resource, *scope, *location;
} lane_carries;
void lanes_losses(const model *m, const lane_carries *c, ledger *l);
/* Records simultaneous observations of length 0: their order is lost, and equal ones become one. */
void lanes_lose_order(const lanes *all, const lane *l, ledger *to);

/* Detects intervals of a lane that events cannot represent: equal neighbours become one, and an
 * interval of length 0 is lost unless it opens a frame or separates two equal frames (nest.h). */
typedef struct lane_seam {
    ledger *l;
    bool flat;     /* the last interval has length 0 */
    bool opened;   /* flat: it opened a frame */
    bool has_args; /* opened: with arguments */
    bool cuts;     /* flat: it closed the frame `cut` */
    uint32_t cut;
} lane_seam;
/* Call before item x is opened; f->stack has its frames, `open` the frames that are open. */
void lane_seam_add(lane_seam *s, const lane_frames *f, const u32s *open, const lane_item *x);
/* Call at a pause and at the end. */
void lane_seam_end(lane_seam *s);

/* ---- shape ---- */

/* Readers group observations of equal identity into samples, ordered by their first observation. To
 * find out whether this restores the samples of the profile, call lane_shape_add for every
 * observation in the order of the file. */
typedef struct lane_shape {
    arena *a;
    hash_index index;
    VEC(uint64_t) identities;
    u32s seen; /* observations so far, by sample */
    uint32_t n_samples;
    bool changed;
} lane_shape;
NODISCARD bool lane_shape_init(lane_shape *s, const profile *p, arena *a);
/* `identity` is a hash of lane and frames. Returns false when out of memory. */
NODISCARD bool lane_shape_add(lane_shape *s, uint64_t identity, uint32_t sample_i, uint32_t nth);
uint64_t lane_stack_identity(const lane_frames *f, uint64_t seed);
/* Records the losses of the lists of values and times: the reader creates `values` and `times` for
 * every observation. */
void lane_shape_end(const lane_shape *s, const model *m, const profile *p, bool values, bool times,
                    ledger *l);
