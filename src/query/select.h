/* query/select.h - selects profiles, samples and frames.  All queries start from the resulting
 * view.  Pure.
 *
 *   models ─ select profiles ─ select samples ─ fold by stack ─ select and rename frames ─► view
 *
 * The options have the names and meanings of pprof; pprof has no collapse and no categories:
 *   focus      stacks with a matching frame              ignore     stacks without a matching frame
 *   hide       removes matching frames                   show       removes all other frames
 *   show_from  removes the callers of the outermost matching frame, and stacks without a match
 *   collapse   removes the callees of the outermost matching frame
 *   begins_with  stacks whose outermost frames have these labels; ends_with: innermost frames,
 *                as they are after the other options
 *   collapse_library    adjacent frames of a matching binary become one frame, "[libc.so.6]"
 *   collapse_recursion  all calls of a matching function become one, without the calls in
 *                       between: a b c b d is a b d
 *   collapse_direct_recursion  adjacent calls of a matching function by itself become one frame
 *   focus_category      removes frames of other categories (profile.frame.type: kernel, jvm, ...)
 *   tagfocus   samples with a matching attribute         tagignore  samples without one
 *   tagroot    values of attributes as outermost frames  tagleaf    as innermost frames
 * A frame matches by the name or file of its function or the file of its mapping; a location with
 * inlined calls matches when one of them does.
 *
 * Patterns are evaluated once per string, and results are cached per location and per attribute,
 * so the cost does not grow with patterns times samples.  All functions are linear in the model. */
#pragma once
#include "base/err.h"
#include "base/stopper.h"
#include "model/model.h"
#include "query/frame.h"

enum { SELECT_RESOURCES = 16 };

/* The zero value selects the default profile and everything in it, by function. */
typedef struct select_opts {
    /* which profiles: the first that matches, or with `all` (and with `resource`) all of its
     * type */
    str sample_type; /* "cpu", "cpu/nanoseconds", "/" for profiles without a type, or an index "1"; empty: the default
                         type (query/default_type.h), among those with samples of the trace or span if one is given */
    str profile_id;                 /* hex digits, or a prefix of them */
    str resource[SELECT_RESOURCES]; /* "service.name=checkout": key, and a pattern for its value */
    size_t n_resources;
    bool all;

    /* which samples */
    uint64_t start, end;     /* Unix ns, [start, end); 0: open.  Observations outside are ignored */
    str tagfocus, tagignore; /* pprof's: "a,b" all match key:value; "key=a,b" one matches the value;
                                 "key=1kb:2mb" and "10:" ranges with units */
    str thread;              /* thread.id, or a pattern for thread.name */
    str trace_id, span_id;   /* hex */

    /* which stacks and frames */
    str focus, ignore, hide, show, show_from;
    str collapse, collapse_library, collapse_recursion, collapse_direct_recursion;
    str focus_category;
    str begins_with, ends_with; /* paths (query/path.h), outermost frame first */
    str tagroot, tagleaf;       /* keys, separated by commas; the first is outermost */
    bool literal;               /* all patterns are plain text */
    bool no_inlines;            /* a location is its outermost function */
    bool keep_pruned;           /* ignore pprof.profile.drop_frames */

    bool by_sample; /* one row per sample, in order; otherwise one row per distinct stack */
} select_opts;

typedef struct view_row {
    int64_t value;   /* sum of the selected observations; saturates */
    uint32_t sample; /* index in the part's profile; the first one if equal stacks are folded */
    uint32_t at, n;  /* places in view_part.stacks, leaf first */
} view_row;

/* One profile of one model. */
typedef struct view_part {
    const model *m;
    const profile *p;
    size_t first_row, n_rows; /* in view.rows */
    const uint32_t *stacks;   /* places: locations, followed by tags */
    const uint32_t *place; /* by place: its frames, leaf first.  A frame id, or with PLACE_MANY an
                                 index into view.many: a count, followed by the frames */
    size_t n_places;
    uint64_t start, end; /* the time range of select_opts, for code that reads timestamps itself */
    double weight;
} view_part;

#define PLACE_MANY (UINT32_C(1) << 31)

typedef struct view {
    arena *a;
    frame_table *frames;
    stopper *stop;  /* cancels this and all queries over the view; NULL: never cancelled */
    str type, unit; /* of the values; "" when not set */
    VEC(view_part) parts;
    VEC(view_row) rows;
    u32s many;
    uint32_t max_depth; /* most frames of a row: the capacity that view_frames needs */
    int64_t sum;        /* sum of the rows' values */
    int64_t total;      /* sum of |value| of all samples before selection: pprof's 100 % */
    uint64_t n_samples; /* samples of the profiles, before any selection */
    uint64_t n_observations;
    uint64_t n_selected; /* samples in the rows */
    bool saturated;
    bool once, loops; /* some frames are FRAME_ONCE, FRAME_LOOP */
    unsigned matched; /* bits 1 << MATCHED_x: patterns that matched something */
    /* names of patterns that matched nothing: "focus, hide"; "" if none */
    char unmatched[192];
} view;

/* Returns the selected profiles of a model as indices of m->profiles in *out (memory from `a`).
 * ERR_USAGE when nothing matches; the message lists the sample types. */
NODISCARD bool select_profiles(const model *m, const select_opts *o, arena *a, u32s *out, err *e);

/* Initializes an empty view over `f`. */
void view_init(view *v, frame_table *f, arena *a);

/* Adds the selected profiles of a checked model, with values multiplied by `weight`.  The model
 * must outlive the view.  ERR_MISMATCH when the unit differs from that of the view; ERR_USAGE,
 * ERR_LIMIT, ERR_MEMORY. */
NODISCARD bool view_add(view *v, const model *m, const select_opts *o, double weight, err *e);

/* Calls frame_table_init, view_init and view_add for one model. */
NODISCARD bool view_of(const model *m, const select_opts *o, granularity by, arena *a,
                       frame_table *f, view *out, err *e);

/* Removes the loops of the n frames of a stack: of a FRAME_LOOP frame, the outermost occurrence
 * stays, with the callees of the innermost.  Returns the new number. */
uint32_t view_cut_loops(const view *v, uint32_t *out, uint8_t *is_inlined, uint32_t n);

/* Appends a frame to the n frames of a row, unless it continues the previous one. */
static inline uint32_t view_put_frame(const view *v, uint32_t id, bool inlined, uint32_t *out,
                                      uint8_t *is_inlined, uint32_t n)
{
    if (UNLIKELY(v->once) && n && out[n - 1] == id && (v->frames->v.v[id].flags & FRAME_ONCE)) {
        if (is_inlined) is_inlined[n - 1] &= inlined;
        return n;
    }
    if (is_inlined) is_inlined[n] = inlined;
    out[n] = id;
    return n + 1;
}

/* Writes the frames of a row, leaf first, into out (capacity v->max_depth) and returns their
 * number.  A row whose frames are all unknown has none.  is_inlined[i] is set for each inlined
 * frame, that is every line of a location except the outermost; NULL: not needed. */
static inline uint32_t view_frames_inlined(const view *v, const view_part *p, const view_row *r,
                                           uint32_t *out, uint8_t *is_inlined)
{
    uint32_t n = 0;
    for (uint32_t i = r->at, end = r->at + r->n; i < end; i++) {
        uint32_t x = p->place[p->stacks[i]];
        if (LIKELY(!(x & PLACE_MANY))) {
            n = view_put_frame(v, x, false, out, is_inlined, n);
            continue;
        }
        const uint32_t *many = v->many.v + (x & ~PLACE_MANY);
        for (uint32_t k = 1; k <= many[0]; k++)
            n = view_put_frame(v, many[k], k < many[0], out, is_inlined, n);
    }
    if (UNLIKELY(v->loops)) n = view_cut_loops(v, out, is_inlined, n);
    return n;
}

static inline uint32_t view_frames(const view *v, const view_part *p, const view_row *r,
                                   uint32_t *out)
{
    return view_frames_inlined(v, p, r, out, NULL);
}

/* Returns scratch for view_frames from the arena of the view; NULL when out of memory. */
NODISCARD uint32_t *view_scratch(const view *v, err *e);
