/* query/internal.h - declarations that the files of the selection share. A place is a location or a
 * tag that is shown as a frame. */
#pragma once
#include "query/pattern.h"
#include "query/select.h"
#include "query/tags.h"

static inline int64_t add_clamped(int64_t a, int64_t b, bool *saturated)
{
    int64_t r;
    if (LIKELY(!ckd_add(&r, a, b))) return r;
    *saturated = true;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t abs_clamped(int64_t v) { return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v; }

/* Bits of view.matched: 1 << MATCHED_x. */
enum {
    MATCHED_FOCUS,
    MATCHED_IGNORE,
    MATCHED_HIDE,
    MATCHED_SHOW,
    MATCHED_FROM,
    MATCHED_COLLAPSE,
    MATCHED_LIBRARY,
    MATCHED_RECURSION,
    MATCHED_DIRECT,
    MATCHED_CATEGORY,
    MATCHED_TAGFOCUS,
    MATCHED_TAGIGNORE,
    MATCHED_BEGIN,
    MATCHED_END
};

/* ---- tags.c: attributes of samples, as pprof's labels ---- */

typedef struct tag_filter tag_filter;

/* Compiles `text`, the value of tagfocus or tagignore. The caller frees the filter, because it
 * contains patterns. */
NODISCARD bool tag_filter_new(str text, bool literal, const char *name, const model *m, arena *a,
                              tag_filter **out, err *e);
void tag_filter_free(tag_filter *f);
/* Sets *yes if the sample matches.  Evaluates each attribute and link once. */
NODISCARD bool tag_filter_match(tag_filter *f, const sample *s, bool *yes, err *e);

/* ---- sample_filter.c: selects samples ---- */

typedef struct sample_filter {
    const model *m;
    const select_opts *o;
    tag_filter *focus, *ignore;
    pattern *thread_name;
    int64_t thread_id; /* or -1 */
    uint8_t *thread;   /* by attribute: 0 not evaluated, 1 no, 2 yes */
    uint8_t ids[24];   /* the requested trace and span */
    bool plain;        /* there is no filter: all samples pass */
    bool focus_hit, ignore_hit;
} sample_filter;

/* The caller calls sample_filter_free after a failure too. */
NODISCARD bool sample_filter_init(sample_filter *x, const model *m, const select_opts *o, arena *a,
                                  err *e);
NODISCARD bool sample_filter_passes(sample_filter *x, const sample *s, bool *yes, err *e);
void sample_filter_free(sample_filter *x);

/* ---- places.c: patterns applied to locations, and their frames ---- */

enum {
    PLACE_FOCUS = 1,
    PLACE_IGNORE = 2,
    PLACE_HIDDEN = 4,
    PLACE_FROM = 8,           /* matches show_from */
    PLACE_PRUNE = 16,         /* drop_frames: removed with its callees */
    PLACE_PRUNE_BENEATH = 32, /* drop_frames: only its callees are removed */
    PLACE_COLLAPSE = 64,      /* matches collapse */
    PLACE_CATEGORY = 128,     /* matches focus_category, and is not hidden */
};

typedef struct places {
    view *v;
    const model *m;
    const select_opts *o;
    arena *a;
    pattern *focus, *ignore, *hide, *show, *show_from, *drop, *keep;
    pattern *collapse, *library, *recursion, *direct, *category;
    str own_drop, own_keep; /* drop_frames and keep_frames of the profile */
    matcher m_focus, m_ignore, m_hide, m_show, m_from, m_collapse, m_library, m_recursion, m_direct;
    uint32_t judged; /* the category that was compared last: its attribute, plus 1 */
    bool judged_yes;
    bool cuts;        /* stacks may lose frames or be dropped, so rows must be filtered */
    bool hides;       /* some place is hidden */
    uint32_t most;    /* frames of the place with the most frames */
    uint32_t *place;  /* by place: view_part.place */
    uint8_t *verdict; /* by place */
    size_t n, cap;
    uint32_t *text_of; /* by string: its text in the frame table, plus 1; 0: not yet */
    uint32_t *file_of; /* by string: its clean path in the frame table, plus 1; 0: not yet */
    u32s lines;        /* lines of the current location that stay */
} places;

/* Compiles the patterns of the options and of the profile and evaluates all locations.  The
 * caller calls places_free after a failure too. */
NODISCARD bool places_init(places *x, view *v, const model *m, const profile *p,
                           const select_opts *o, err *e);
/* Returns whether places_init would give the same result for this profile of the same model. */
bool places_same(const places *x, const profile *p);
/* Adds a place for the value of a tag.  The caller avoids duplicates. */
NODISCARD bool places_add_tag(places *x, str value, str key, uint32_t *out, err *e);
/* Narrows [*at, *at + *n) of `stack` to the places that stay; false when the stack is dropped. */
bool places_cut(const places *x, const uint32_t *stack, uint32_t *at, uint32_t *n);
void places_free(places *x);
