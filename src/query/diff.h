/* query/diff.h - what changed between two views, and which of it is more than noise.  Pure.
 *
 * Two runs of one program never give the same numbers.  Each frame's share of the samples (or, in
 * absolute mode, its rate over time) is tested; the tests of all frames together keep the rate of false
 * discoveries (stat.h).  What does not pass is there too, marked as noise: nothing is hidden.
 *
 * How many samples a value stands for: counts are samples; a value in the unit of the period is that many
 * periods; otherwise values differ in size and the effective number is (sum)^2 / sum of squares. */
#pragma once
#include "query/flat.h"
#include "query/stat.h"

typedef enum diff_verdict {
    DIFF_NOISE, /* not more than two runs of the same program would show */
    DIFF_GREW,
    DIFF_SHRANK,
    DIFF_UNTESTED, /* different, but there is no test: see diff.untested */
} diff_verdict;

typedef struct diff_side {
    int64_t flat, cum;
} diff_side;

typedef struct diff_row {
    uint32_t frame;
    diff_side before, after;
    double flat_change, cum_change; /* after - before, with `before` scaled to `after`'s sum */
    double flat_q, cum_q;           /* the false discovery rate at which it counts as changed */
    diff_verdict flat, cum;
} diff_row;

typedef struct diff_opts {
    bool absolute; /* compare rates over time instead of shares of the sum */
    bool by_cum;   /* order by the cumulative change */
    double fdr;    /* rate of false discoveries; 0: DIFF_FDR */
    double noise;  /* how many neighbouring samples say the same: counts are divided by it; 0: 1 */
} diff_opts;

#define DIFF_FDR 0.05

typedef struct diff {
    const frame_table *frames;
    diff_row *v; /* changed ones first, largest |change| first, equals by label */
    size_t n;
    size_t n_changed; /* GREW, SHRANK or UNTESTED in flat or cum: v[0 .. n_changed) */
    size_t n_grew;    /* of them, GREW in flat or cum */
    size_t n_tests;   /* hypotheses that were looked at */
    int64_t sum_before, sum_after;
    double scale;             /* what `before` is multiplied by */
    double t_before, t_after; /* seconds of the profiles; absolute mode compares over them */
    double samples_before, samples_after; /* effective numbers */
    double fdr;
    const char *untested; /* a sentence when nothing could be tested, else NULL */
} diff;

/* Compares two views over one table of frames.  ERR_MISMATCH when their units differ. */
NODISCARD bool diff_of(const view *before, const view *after, const diff_opts *o, arena *a,
                       diff *out, err *e);

/* The value of one sample of a view: what its sums are divided by to be counts.  0 when nothing can be
 * counted (negative values, no samples). */
double diff_sample_size(const view *v);

/* Growth that could have been seen four times in five for a frame with this share of `before`, in
 * shares: 0.01 is one point. */
double diff_detectable(const diff *d, double share);
