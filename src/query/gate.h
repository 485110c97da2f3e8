/* query/gate.h - a limit that a profile must keep, for CI: `PATTERN<=4%`.  Pure.
 *
 *   parse<=4%        stacks with a frame that matches `parse` hold at most 4 % of the new profile
 *   parse<=+4%       their share grew by at most 4 % of what it was (0.20 may become 0.208)
 *   parse<=200ms     their value is at most 200 ms, in the unit of the values
 *   `<` is strict.  The last `<` of the text ends the pattern, so `vector<int>::push` can be written. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "query/select.h"

typedef enum gate_kind {
    GATE_SHARE,  /* of the new profile's sum */
    GATE_GROWTH, /* of the share, against the old profile */
    GATE_VALUE,
} gate_kind;

typedef struct gate {
    str text;    /* as it was given */
    str pattern; /* view into it */
    gate_kind kind;
    bool strict;  /* `<`: the limit itself is too much */
    double limit; /* share: 0.04; growth: 0.04; value: in `unit` */
    str unit;     /* GATE_VALUE: "ms"; "" is the unit of the values themselves */
} gate;

/* What the pattern holds and what there is. */
typedef struct gate_sums {
    double before, before_all, after, after_all;
} gate_sums;

typedef struct gate_result {
    double got;      /* in the terms of the limit; infinity for growth from nothing */
    double share;    /* of the new profile */
    double margin;   /* half of the 95 % interval of `share`; 0 when the samples are not counted */
    double smallest; /* growth of the share (in shares) that these runs could show; 0: not known */
    bool passed;
} gate_result;

/* `text` must outlive the gate.  ERR_USAGE with the sentence that helps. */
NODISCARD bool gate_parse(str text, gate *out, err *e);

/* Sum of the rows of a view with a frame whose name or file matches the gate's pattern. */
NODISCARD bool gate_sum(const gate *g, const view *v, bool literal, double *out, err *e);

/* Judges the sums; value limits are compared in the unit of the values, `unit`.  samples_*: how many
 * samples the two sides hold (0: not known).  ERR_USAGE when the gate's unit cannot be turned into it. */
NODISCARD bool gate_judge(const gate *g, gate_sums s, str unit, double samples_before,
                          double samples_after, gate_result *out, err *e);
