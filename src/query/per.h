/* query/per.h - divides amounts before they are compared (`kiln diff --per`).  Pure.
 *
 *   run                1: for recordings of the same work
 *   second             recorded time: for services
 *   attribute:KEY      a number of the resource, scope or profile, such as requests served
 *   N,M                given numbers: before and after, or one per recording
 *   calibration:FRAME  the amount of the matching frames, which did the same work on both machines */
#pragma once
#include "query/select.h"

typedef enum per_kind { PER_RUN, PER_SECOND, PER_ATTRIBUTE, PER_NUMBERS, PER_FRAME } per_kind;

enum { PER_MAX = 128 }; /* most numbers in N,M,... */

typedef struct per {
    str text; /* as given by the user; "run" by default */
    per_kind kind;
    str what; /* the key or the pattern, a view into text */
    double numbers[PER_MAX];
    size_t n;
} per;

/* Parses `text`, which must outlive *out.  ERR_USAGE with a message that lists the choices. */
NODISCARD bool per_parse(str text, per *out, err *e);

/* One recording of the comparison. */
typedef struct per_recording {
    const view *v;
    bool after;
    size_t at, n; /* the at-th of n recordings; those of `before` come first */
    bool literal; /* patterns are plain text */
} per_recording;

typedef struct per_amount {
    double v;       /* more than 0 */
    double samples; /* number of samples that v was computed from; 0: exact */
} per_amount;

/* Computes the divisor of one recording. ERR_USAGE when the recording does not have the number; the
 * message suggests a similar name. */
NODISCARD bool per_of(const per *p, const per_recording *r, per_amount *out, err *e);
