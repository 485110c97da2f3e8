/* query/select.h - which profile, which samples, which frames: the view that every answer starts from.
 *
 *   models ─ choose profiles ─ choose samples ─ fold by stack ─ choose and rename frames ─► view
 *
 * The words are pprof's and mean what they mean there:
 *   focus      stacks with a frame that matches          ignore     no stacks with one that matches
 *   hide       frames that match are taken out           show       all others are
 *   show_from  the callers above the outermost frame that matches go; stacks without one too
 *   tagfocus   samples with an attribute that matches    tagignore  without
 *   tagroot    values of attributes as outermost frames  tagleaf    as innermost frames
 * A frame matches by the name or file of its function or the file of its mapping; a location with
 * inlined calls matches when one of them does.
 *
 * Patterns are asked once per string, verdicts kept per location and per attribute: the cost of a
 * selection does not grow with the patterns times the samples.  All is linear in the model. */
#pragma once
#include "base/err.h"
#include "base/stopper.h"
#include "model/model.h"
#include "query/frame.h"

enum { SELECT_RESOURCES = 16 };

/* The zero value selects the first profile and everything in it, by function. */
typedef struct select_opts {
    /* which profiles: the first that fits, or with `all` (and with `resource`) every one of its type */
    str sample_type; /* "cpu", "cpu/nanoseconds", "/" of profiles without a type, or an index "1"; empty: the one that
                         leads (query/lead.h), of those that have samples of the trace or span if one is given */
    str profile_id;                 /* hex digits, or the first of them */
    str resource[SELECT_RESOURCES]; /* "service.name=checkout": key, and a pattern for its value */
    size_t n_resources;
    bool all;

    /* which samples */
    uint64_t start, end; /* Unix ns, [start, end); 0: open.  Observations outside are left out */
    str tagfocus, tagignore; /* pprof's: "a,b" all match key:value; "key=a,b" one matches the value;
                                 "key=1kb:2mb" and "10:" ranges with units */
    str thread;              /* thread.id, or a pattern for thread.name */
    str trace_id, span_id;   /* hex */

    /* which stacks and frames */
    str focus, ignore, hide, show, show_from;
    str tagroot, tagleaf; /* keys, separated by commas; the first is outermost */
    bool literal;         /* all patterns are plain text */
    bool no_inlines;      /* a location is its outermost function */
    bool keep_pruned;     /* do not apply pprof.profile.drop_frames */

    bool by_sample; /* a row for each sample, in their order; otherwise equal stacks are one row */
} select_opts;

typedef struct view_row {
    int64_t value;   /* sum of the observations that were selected; saturates */
    uint32_t sample; /* of the part's profile; with equal stacks folded: the first */
    uint32_t at, n;  /* places in view_part.stacks, leaf first */
} view_row;

/* One profile of one model. */
typedef struct view_part {
    const model *m;
    const profile *p;
    size_t first_row, n_rows; /* in view.rows */
    const uint32_t *stacks;   /* places: locations, and tags behind them */
    const uint32_t *place; /* by place: its frames, leaf first.  A frame id, or with PLACE_MANY an
                                 index of view.many, which holds their number and then them */
    size_t n_places;
    uint64_t start, end; /* the window of select_opts, for those who look at times themselves */
    double weight;
} view_part;

#define PLACE_MANY (UINT32_C(1) << 31)

typedef struct view {
    arena *a;
    frame_table *frames;
    stopper *stop;  /* of this and of all that is made of it; NULL: it is never given up */
    str type, unit; /* of the values; "" when not set */
    VEC(view_part) parts;
    VEC(view_row) rows;
    u32s many;
    uint32_t max_depth; /* most frames of a row: the room view_frames needs */
    int64_t sum;        /* of the rows' values */
    int64_t total;      /* of the absolute values of all samples of the profiles, before any
                                 selection: what pprof's percentages are of */
    uint64_t n_samples; /* of the profiles */
    uint64_t n_observations;
    uint64_t n_selected; /* samples in the rows */
    bool saturated;
    unsigned matched; /* patterns that matched something: bits of their own */
    /* patterns that were given and matched nothing, as names for people: "focus, hide"; "" if none */
    char unmatched[96];
} view;

/* Chosen profiles of a model, as indices of m->profiles in *out (memory from `a`).  ERR_USAGE when
 * nothing fits: the sentence says which sample types there are. */
NODISCARD bool select_profiles(const model *m, const select_opts *o, arena *a, u32s *out, err *e);

/* An empty view over `f`. */
void view_init(view *v, frame_table *f, arena *a);

/* Adds the chosen profiles of a checked model, each value times `weight`.  The model must outlive the
 * view.  ERR_MISMATCH when the unit differs from what the view holds; ERR_USAGE, ERR_LIMIT. */
NODISCARD bool view_add(view *v, const model *m, const select_opts *o, double weight, err *e);

/* frame_table_init, view_init and view_add of one model. */
NODISCARD bool view_of(const model *m, const select_opts *o, granularity by, arena *a,
                       frame_table *f, view *out, err *e);

/* The frames of a row, leaf first, into out (room for v->max_depth); returns how many.  A row whose
 * frames were all unknown has none. */
static inline uint32_t view_frames(const view *v, const view_part *p, const view_row *r,
                                   uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = r->at, end = r->at + r->n; i < end; i++) {
        uint32_t x = p->place[p->stacks[i]];
        if (LIKELY(!(x & PLACE_MANY))) {
            out[n++] = x;
            continue;
        }
        const uint32_t *many = v->many.v + (x & ~PLACE_MANY);
        for (uint32_t k = 1; k <= many[0]; k++) out[n++] = many[k];
    }
    return n;
}

/* Scratch for view_frames, from the view's arena; NULL at the budget. */
NODISCARD uint32_t *view_scratch(const view *v, err *e);
