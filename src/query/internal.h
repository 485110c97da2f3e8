/* query/internal.h - what the files of the selection share. */
#pragma once
#include "query/pattern.h"
#include "query/select.h"
#include "query/tags.h"

static inline bool query_no_memory(err *e)
{
    return err_set(e, ERR_LIMIT, "the memory budget is spent");
}

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
    MATCHED_TAGFOCUS,
    MATCHED_TAGIGNORE
};

/* ---- tags.c: attributes of samples, as pprof's labels ---- */

typedef struct tag_filter tag_filter;

/* `text` is that of tagfocus or tagignore.  Free it: it holds patterns. */
NODISCARD bool tag_filter_new(str text, bool literal, const char *name, const model *m, arena *a,
                              tag_filter **out, err *e);
void tag_filter_free(tag_filter *f);
/* Does the sample match?  Asked once per attribute and link. */
NODISCARD bool tag_filter_match(tag_filter *f, const sample *s, bool *yes, err *e);

/* ---- sieve.c: which samples are meant ---- */

typedef struct sieve {
    const model *m;
    const select_opts *o;
    tag_filter *focus, *ignore;
    pattern *thread_name;
    int64_t thread_id; /* or -1 */
    uint8_t *thread;   /* by attribute: 0 not asked, 1 no, 2 yes */
    uint8_t ids[24];   /* trace and span that were asked for */
    bool plain;        /* everything passes */
    bool focus_hit, ignore_hit;
} sieve;

/* sieve_free also after failure. */
NODISCARD bool sieve_init(sieve *x, const model *m, const select_opts *o, arena *a, err *e);
NODISCARD bool sieve_passes(sieve *x, const sample *s, bool *yes, err *e);
void sieve_free(sieve *x);

/* ---- places.c: what the patterns say of locations, and their frames ---- */

enum {
    PLACE_FOCUS = 1,
    PLACE_IGNORE = 2,
    PLACE_HIDDEN = 4,
    PLACE_FROM = 8,          /* show_from begins here */
    PLACE_PRUNE = 16,        /* drop_frames: this and what it called goes */
    PLACE_PRUNE_BENEATH = 32 /* drop_frames: what it called goes */
};

typedef struct places {
    view *v;
    const model *m;
    const select_opts *o;
    arena *a;
    pattern *focus, *ignore, *hide, *show, *show_from, *drop, *keep;
    str own_drop, own_keep; /* drop_frames and keep_frames of the profile */
    matcher m_focus, m_ignore, m_hide, m_show, m_from;
    bool cuts;        /* a stack can lose frames or be dropped: rows need a look */
    bool hides;       /* some place is hidden */
    uint32_t most;    /* frames of the largest place */
    uint32_t *place;  /* by place: view_part.place */
    uint8_t *verdict; /* by place */
    size_t n, cap;
    uint32_t *text_of; /* by string: text of the frames + 1 */
    uint32_t *file_of; /* the same, as a clean path */
    uint32_t *map_of;  /* by mapping */
    u32s lines;        /* of the location being looked at */
} places;

/* Patterns of the options and of the profile, then every location.  places_free also after failure. */
NODISCARD bool places_init(places *x, view *v, const model *m, const profile *p,
                           const select_opts *o, err *e);
/* Would places_init give the same for this profile of the same model? */
bool places_same(const places *x, const profile *p);
/* A place for a tag's value; the same for the same texts is the caller's business. */
NODISCARD bool places_add_tag(places *x, str value, str key, uint32_t *out, err *e);
/* Frames that stay of the places [*at, *at + *n) of `stack`; false: the stack is dropped. */
bool places_cut(const places *x, const uint32_t *stack, uint32_t *at, uint32_t *n);
void places_free(places *x);
