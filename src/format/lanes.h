/* format/lanes.h - a profile as lanes: one a thread, observations in order of time.  Pure.
 *
 * For writers whose formats know threads and time but no attributes: speedscope, Chrome. */
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
    uint32_t order;       /* of the observation in the profile */
    uint32_t depth;       /* frames of the stack */
    uint32_t sample, nth; /* which observation of which sample it is */
} lane_item;

typedef struct lane {
    str name; /* thread.name */
    str id;   /* kiln.event.id: not a thread but a track of asynchronous events */
    int64_t tid;
    bool has_tid;
    size_t first, n; /* its items */
} lane;

typedef struct lanes {
    VEC(lane) v;
    VEC(lane_item)
    items; /* lane by lane, each by time; those without length first, the shallow before the deep:
                             they are what tells two equal neighbours apart (nest.h) */
    bool timed;     /* the profile has times; otherwise order is all there is */
    bool all_timed; /* every observation has one */
} lanes;

/* Lanes in order of first appearance; none for a profile without samples. */
NODISCARD bool lanes_of(const model *m, const profile *p, arena *a, lanes *out, err *e);

/* ---- frames ---- */

/* A frame of the target: what it tells frames apart by. */
typedef struct lane_frame {
    str name, file, category;
    int64_t line, column;
} lane_frame;

typedef struct lane_frames {
    const model *m;
    arena *a;
    ledger *l;       /* or NULL: says which names are addresses */
    bool places;     /* frames have file, line and column */
    bool categories; /* frames have a category */
    VEC(lane_frame) v;
    hash_index index;
    u32s expanded;         /* frames of all locations so far, root first ... */
    uint32_t *of_location; /* ... where those of a location begin, + 1; 0: not made yet */
    u32s stack;            /* what lane_frames_of() found */
} lane_frames;

NODISCARD bool lane_frames_init(lane_frames *f);
/* The frames of a stack, root first, into f->stack; inlined lines become frames of their own.
 * false: out of memory. */
NODISCARD bool lane_frames_of(lane_frames *f, uint32_t stack);

/* ---- attributes ---- */

/* The value of the attribute with that key in a list, or NULL. */
const any *lane_attr(const dict *d, const uint32_t *attrs, size_t n, const char *key);
const any *lane_profile_attr(const model *m, const profile *p, const char *key);
const any *lane_scope_attr(const keyvalues *attrs, const char *key);
static inline bool lane_is_true(const any *v) { return v && v->kind == ANY_BOOL && v->i; }
static inline str lane_text(const any *v)
{
    return v && v->kind == ANY_STRING ? any_str(v) : (str){0};
}

/* ---- text ---- */

/* v / 10^scale as a number. */
void lane_put_decimal(json_out *o, int64_t v, int scale);

/* ---- losses ---- */

/* What a format of frames, threads and values has no place for, counted from the model.  Keys of
 * profile, sample, scope and resource attributes that the caller carries are given (up to one without a key). */
typedef struct lane_key {
    const char *key;
    any_kind
        kind; /* a value of another kind is not carried, nor one without a text or with a unit */
} lane_key;
typedef struct lane_carries {
    const lane_key *profile, *sample, *resource, *scope, *location;
} lane_carries;
void lanes_losses(const model *m, const lane_carries *c, ledger *l);
/* Several observations without length at one moment: which came first is not known, and equal ones become one. */
void lanes_lose_order(const lanes *all, const lane *l, ledger *to);

/* Stretches of a lane that events cannot tell: equal neighbours become one, and one without length is gone unless it
 * opens a frame, or parts two equal frames (nest.h). */
typedef struct lane_seam {
    ledger *l;
    bool flat;   /* the last stretch has no length ... */
    bool opened; /* ... and opened a frame ... */
    bool told;   /* ... with arguments */
    bool cuts;   /* it closed a frame: */
    uint32_t cut;
} lane_seam;
/* Before item x, with frames f->stack, is opened over the frames that are open at that time. */
void lane_seam_see(lane_seam *s, const lane_frames *f, const u32s *open, const lane_item *x);
/* A pause, or the end. */
void lane_seam_end(lane_seam *s);

/* ---- shape ---- */

/* Readers put observations of equal identity together, in order of their first one.  Whether that makes the samples
 * that the profile had is found by showing every observation in the order of the file. */
typedef struct lane_shape {
    arena *a;
    hash_index index;
    VEC(uint64_t) identities;
    u32s seen; /* of each sample */
    uint32_t n_samples;
    bool changed;
} lane_shape;
NODISCARD bool lane_shape_init(lane_shape *s, const profile *p, arena *a);
/* identity: a hash of lane and frames.  false: out of memory. */
NODISCARD bool lane_shape_see(lane_shape *s, uint64_t identity, uint32_t sample_i, uint32_t nth);
uint64_t lane_stack_identity(const lane_frames *f, uint64_t seed);
/* What becomes of the lists of values and times: the reader makes `values` and `times` for every observation. */
void lane_shape_end(const lane_shape *s, const model *m, const profile *p, bool values, bool times,
                    ledger *l);
