/* check/fix.h - repair in three steps, all on one copy of the model:
 *
 *     check_fix.c       copies the model and resolves string references
 *     check_fix_refs.c  gives every table its entry 0 and moves references: the model is checked
 *     check_fix_tidy.c  merges duplicates, removes orphans and repeated attributes
 */
#pragma once
#include "check/internal.h"

typedef enum fix_table {
    FIX_MAPPINGS,
    FIX_LOCATIONS,
    FIX_FUNCTIONS,
    FIX_LINKS,
    FIX_STRINGS,
    FIX_ATTRIBUTES,
    FIX_STACKS,
    FIX_TABLES
} fix_table;

typedef struct fixer {
    const model *in;
    model *m; /* the copy */
    arena *a;
    uint32_t n[FIX_TABLES];     /* entries of the input */
    uint32_t shift[FIX_TABLES]; /* 1: the input's entry 0 is a real entry and becomes entry 1 */
    uint64_t count[FIX_KIND_COUNT];
    char path[FIX_KIND_COUNT][160];

    /* fix_tidy */
    const canon *canon;
    const reach *reach;
    const uint8_t *used_strings; /* strings of the input that string references use */
    uint32_t *map[FIX_TABLES];   /* entry -> its new index */
    uint32_t *stamp, tick;       /* attribute -> the last list that contained it */
} fixer;

extern const char *const fix_table_names[FIX_TABLES];

/* Counts one repair. Returns true for the first of its kind: the caller then calls fix_at. */
static inline bool fix_count(fixer *x, fix_kind k) { return x->count[k]++ == 0; }
void fix_at(fixer *x, fix_kind k, const char *fmt, ...) PRINTF(3, 4);
/* Records a path below a profile. */
void fix_at_profile(fixer *x, fix_kind k, size_t profile, const char *fmt, ...) PRINTF(4, 5);

void fix_at_list(fixer *x, fix_kind k, owner w, size_t position);

/* Rewrites the lists of the samples of all profiles: map(x, list, n, sample) changes one in place and
 * returns its new length. */
typedef size_t fix_list_fn(fixer *x, uint32_t *v, size_t n, owner w);
NODISCARD bool fix_lists(fixer *x, fix_list_fn *map);

NODISCARD bool fix_refs(fixer *x);
NODISCARD bool fix_tidy(fixer *x);
