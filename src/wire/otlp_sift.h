/* wire/otlp_sift.h - the valid part of an OTLP message in which some profiles break a rule.  Pure.
 *
 *   message ─ otlp_sift ─► the same message without the broken profiles, and why each was dropped
 *
 * The result is built from the bytes of the input, so unknown fields stay.  A broken dictionary entry becomes an empty one and
 * drops the profiles that lead to it; a broken resource or scope drops its profiles. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "wire/layout.h"

/* Rules a profile can break while its bytes are still protobuf. */
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

enum { OTLP_SIFT_REASONS = 4 };

typedef struct otlp_sifted {
    size_t n_profiles;                    /* in the input */
    size_t n_rejected;                    /* profiles that were dropped */
    size_t rejected_by[OTLP_FAULT_COUNT]; /* they add up to n_rejected */
    size_t n_entries;                     /* broken dictionary entries that were emptied */
    err reason[OTLP_SIFT_REASONS];        /* the first faults, with byte and path */
    size_t n_reasons;                     /* faults found in all; reason[] has the first of them */
} otlp_sifted;

/* The valid part of p[0..n), a message of this layout, in `a`; never longer than n by more than a few bytes a resource and scope.
 * Layouts before 1.6 are judged by the decoder, 1.6 and 1.7 by their indices, texts and ids alone: decode the result strictly.
 * ERR_MALFORMED: the bytes are not protobuf, or the fault belongs to no profile alone (an entry 0, which every unset reference
 * means).  ERR_LIMIT: the budget of `a`. */
NODISCARD bool otlp_sift(const void *p, size_t n, layout l, arena *a, str *out, otlp_sifted *found,
                         err *e);
