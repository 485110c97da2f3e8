/* query/gate.h - limits for the new side of a comparison, for use in CI: `PATTERN<=+10%`.  Pure.
 *
 *   parse<=+10%      the cost of stacks with a frame that matches `parse` grew by at most 10 %
 *   parse<=200ms     they cost at most 200 ms, in the unit of the comparison (query/per.h)
 *   parse<=4%        they are at most 4 % of the new side
 *   total<=+10%      the total grew by at most 10 %; ^total$ matches a frame of that name
 *   `<` is strict.  The last `<` of the text ends the pattern, so `vector<int>::push` can be written. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "query/diff.h"

typedef enum gate_kind {
    GATE_SHARE,  /* fraction of the sum of the new side */
    GATE_GROWTH, /* change of the cost, relative to the old side */
    GATE_VALUE,
} gate_kind;

typedef struct gate {
    str text;    /* as given by the user */
    str pattern; /* view into it */
    gate_kind kind;
    bool strict;  /* `<`: the value must be below the limit */
    bool total;   /* the limit applies to the total; there is no pattern */
    double limit; /* share: 0.04; growth: 0.1; value: in `unit` */
    str unit;     /* GATE_VALUE: "ms" */
} gate;

/* Sums of the stacks that match the gate. */
typedef struct gate_sums {
    double before, after;
    bool missing; /* the pattern matches nothing on either side */
} gate_sums;

typedef struct gate_result {
    double got;       /* in the unit of the limit; infinity for growth from nothing */
    double low, high; /* 95 % confidence interval */
    bool known;       /* low and high are known */
    double share;     /* fraction of the new side */
    double limit;     /* in the unit of `got`; a value is in the unit of the values */
    double
        smallest; /* growth that is detected with 80 % probability; 0.1 is 10 %; infinite: none */
    bool missing; /* the pattern matches nothing on either side */
    bool passed;
} gate_result;

/* Parses a gate; `text` must outlive it.  ERR_USAGE with a message that shows the syntax. */
NODISCARD bool gate_parse(str text, gate *out, err *e);

/* Adds the amounts that match in n recordings of a side and sets *found if there are any.
 * ERR_USAGE, ERR_LIMIT, ERR_MEMORY. */
NODISCARD bool gate_sum(const gate *g, const recording *v, size_t n, bool literal, double *out,
                        bool *found, err *e);

/* Sets ERR_USAGE with the most similar names in the recordings and returns false. */
bool gate_names_nothing(const gate *g, const recording *const sides[2], const size_t n[2], err *e);

/* Compares the sums with the limit.  Value limits are converted to `unit`, the unit of the
 * values.  ERR_USAGE when the gate has no unit or one that cannot be converted; the message
 * lists the units. */
NODISCARD bool gate_judge(const gate *g, gate_sums s, const diff *d, str unit, gate_result *out,
                          err *e);
