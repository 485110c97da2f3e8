/* query/gate.h - a limit that the new side must keep, for CI: `PATTERN<=+10%`.  Pure.
 *
 *   parse<=+10%      what stacks with a frame that matches `parse` cost grew by at most 10 %
 *   parse<=200ms     they cost at most 200 ms, per what the comparison is per
 *   parse<=4%        they hold at most 4 % of the new side
 *   total<=+10%      the same for everything; a frame of that name is ^total$
 *   `<` is strict.  The last `<` of the text ends the pattern, so `vector<int>::push` can be written. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "query/diff.h"

typedef enum gate_kind {
    GATE_SHARE,  /* of the new side's sum */
    GATE_GROWTH, /* of the cost, against the old side */
    GATE_VALUE,
} gate_kind;

typedef struct gate {
    str text;    /* as it was given */
    str pattern; /* view into it */
    gate_kind kind;
    bool strict;  /* `<`: the limit itself is too much */
    bool total;   /* everything, no pattern */
    double limit; /* share: 0.04; growth: 0.1; value: in `unit` */
    str unit;     /* GATE_VALUE: "ms" */
} gate;

/* What the gate names, before and after. */
typedef struct gate_sums {
    double before, after;
    bool missing; /* on both sides */
} gate_sums;

typedef struct gate_result {
    double got;       /* in the terms of the limit; infinity for growth from nothing */
    double low, high; /* between what it lies in 95 of 100 cases */
    bool known;       /* low and high are */
    double share;     /* of the new side */
    double limit;     /* in the terms of got: a value in the unit of the values */
    double
        smallest; /* growth that would show four times in five, 0.1 is 10 %; infinite: none would */
    bool missing; /* it names nothing on either side */
    bool passed;
} gate_result;

/* `text` must outlive the gate.  ERR_USAGE with the sentence that helps. */
NODISCARD bool gate_parse(str text, gate *out, err *e);

/* Adds what the gate names in n recordings of a side, *found: there is something.  ERR_USAGE, ERR_LIMIT. */
NODISCARD bool gate_sum(const gate *g, const recording *v, size_t n, bool literal, double *out,
                        bool *found, err *e);

/* ERR_USAGE with the nearest names that the recordings have.  Always false. */
bool gate_names_nothing(const gate *g, const recording *const sides[2], const size_t n[2], err *e);

/* Judges the sums by the measured amounts; value limits are compared in the unit of the values, `unit`.  ERR_USAGE
 * when the gate has no unit or one that cannot be turned into it: the sentence shows the units. */
NODISCARD bool gate_judge(const gate *g, gate_sums s, const diff *d, str unit, gate_result *out,
                          err *e);
