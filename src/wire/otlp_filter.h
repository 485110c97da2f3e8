/* wire/otlp_filter.h - removes the profiles that violate a rule from an OTLP message.  Pure.
 *
 *   message ─ otlp_filter ─► the same message without these profiles, and the reasons
 *
 * The result consists of bytes of the input, so unknown fields are kept.  A broken dictionary entry
 * becomes empty, and the profiles that refer to it are removed; a broken resource or scope removes its
 * profiles. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "wire/layout.h"

/* Rules that valid protobuf can violate. */
#define OTLP_FAULTS(X)                                                                             \
    X(WIRE, "wire", "bytes that are not protobuf")                                                 \
    X(INDEX, "index", "an index outside its table, or to a broken entry")                          \
    X(UTF8, "utf8", "text that is not UTF-8")                                                      \
    X(ID, "id", "an id of the wrong length")                                                       \
    X(DEPTH, "depth", "values nested too deep")                                                    \
    X(SHAPE, "shape", "samples that do not fit their profile")

typedef enum otlp_fault {
#define X(id, name, what) OTLP_FAULT_##id,
    OTLP_FAULTS(X)
#undef X
        OTLP_FAULT_COUNT
} otlp_fault;

const char *otlp_fault_name(otlp_fault f);

enum { OTLP_FILTER_REASONS = 4 };

typedef struct otlp_filtered {
    size_t n_profiles;                    /* profiles in the input */
    size_t n_rejected;                    /* removed profiles */
    size_t rejected_by[OTLP_FAULT_COUNT]; /* the sum is n_rejected */
    size_t n_entries;                     /* emptied dictionary entries */
    err reason[OTLP_FILTER_REASONS];      /* the first faults, with byte and path */
    size_t n_reasons;                     /* number of faults; reason[] has the first ones */
} otlp_filtered;

/* Writes the valid part of p[0..n), a message of this layout, to `a`.  It is at most a few bytes
 * per resource and scope longer than n.  Profiles of 1.6 and 1.7 are checked only for indices,
 * texts and ids, so decode the result strictly.  Fails with ERR_MALFORMED if the bytes are not
 * protobuf or the fault affects all profiles (a broken entry 0, which every unset reference means),
 * or with ERR_MEMORY at the budget of `a`. */
NODISCARD bool otlp_filter(const void *p, size_t n, layout l, arena *a, str *out,
                           otlp_filtered *found, err *e);
