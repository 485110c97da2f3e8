/* query/per.h - what amounts are divided by before they are compared: `kiln diff --per`.  Pure.
 *
 *   run                two recordings of the same work: the amounts themselves
 *   second             services: recorded time
 *   attribute:KEY      a number that the resource, scope or profile says, such as requests served
 *   N,M                the same by hand: before, after; or a number for each recording
 *   calibration:FRAME  the amount of the frames that match, which did the same work on both machines */
#pragma once
#include "query/select.h"

typedef enum per_kind { PER_RUN, PER_SECOND, PER_ATTRIBUTE, PER_NUMBERS, PER_FRAME } per_kind;

enum { PER_MAX = 128 }; /* numbers */

typedef struct per {
    str text; /* as it was given; "run" */
    per_kind kind;
    str what; /* the key or the pattern: a view into text */
    double numbers[PER_MAX];
    size_t n;
} per;

/* `text` must outlive *out.  ERR_USAGE with what can be given. */
NODISCARD bool per_parse(str text, per *out, err *e);

/* One of the recordings that are compared. */
typedef struct per_recording {
    const view *v;
    bool after;
    size_t at, n; /* the at-th of n, those of before first */
    bool literal; /* patterns are plain text */
} per_recording;

typedef struct per_amount {
    double v;       /* more than 0 */
    double samples; /* that it was measured with; 0: it is exact */
} per_amount;

/* ERR_USAGE when the recording does not say it, with the nearest names. */
NODISCARD bool per_of(const per *p, const per_recording *r, per_amount *out, err *e);
