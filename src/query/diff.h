/* query/diff.h - what changed in cost between two sides, and which of it is more than noise.  Pure.
 *
 * A side is one recording or several of the same work.  What is compared are amounts (time, bytes, samples),
 * each divided by what its recording says it is per (query/per.h): that of everything, the total, and each
 * frame's own and cumulative amount.  A share is a view, never a verdict: when one function gets faster the
 * shares of all others grow.
 *
 * All tests together keep the rate of false discoveries; half of it belongs to the total.  What does not pass
 * is there too, marked as noise: nothing is hidden. */
#pragma once
#include "query/recordings.h"

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
    uint32_t frame;                 /* NO_FRAME: the total */
    diff_side before, after;        /* sums of the side's recordings */
    double flat_change, cum_change; /* after / per_after - before / per_before */
    double flat_q, cum_q;           /* the false discovery rate at which it counts as changed */
    diff_verdict flat, cum;
    bool moved; /* it grew by what another frame lost: inlined or renamed, not a regression */
} diff_row;

typedef struct diff_opts {
    bool by_cum;   /* order by the cumulative change */
    double fdr;    /* rate of false discoveries; 0: DIFF_FDR */
    double noise;  /* recordings_opts */
    double spread; /* recordings_opts: negative is the default */
} diff_opts;

#define DIFF_FDR 0.05

typedef struct diff {
    const frame_table *frames;
    diff_row total;
    diff_row *v; /* frames: changed ones first, largest |change| first, equals by label */
    size_t n;
    size_t n_changed; /* GREW, SHRANK or UNTESTED in flat or cum: v[0 .. n_changed) */
    size_t n_grew;    /* of them, GREW in flat or cum and not moved */
    size_t n_moved;   /* of them, GREW and moved */
    size_t n_tests;   /* hypotheses that were looked at, the total among them */
    int64_t sum_before, sum_after;
    double per_before, per_after; /* what sums are divided by */
    size_t runs_before, runs_after;
    double samples_before, samples_after; /* effective numbers */
    double fdr;
    bool measured;     /* the noise between runs was */
    double spread;     /* assumed between runs, relative standard deviation */
    double variance;   /* of the logarithm of a ratio, beyond counts and what was measured */
    double run_error;  /* of the same for the total, as measured between runs; 0: not */
    double run_spread; /* between runs of a side, relative standard deviation; 0: not measured */
    bool uniform;      /* the total changed, and no frame by another part than the total */
    uint32_t most; /* frame whose own amount changed most in the total's direction, or NO_FRAME */
    const char *untested; /* a sentence when nothing could be tested, else NULL */
} diff;

/* Compares views over one table of frames.  ERR_MISMATCH when their units differ. */
NODISCARD bool diff_of(const recording *before, size_t n_before, const recording *after,
                       size_t n_after, const diff_opts *o, arena *a, diff *out, err *e);

/* Did something get more expensive: the total, or a frame by more than moved there? */
static inline bool diff_regressed(const diff *d) { return d->total.cum == DIFF_GREW || d->n_grew; }

/* Amounts as they are compared. */
static inline double diff_before(const diff *d, int64_t sum) { return (double)sum / d->per_before; }
static inline double diff_after(const diff *d, int64_t sum) { return (double)sum / d->per_after; }

/* What after / before - 1 is, and between what it lies in 95 of 100 cases. */
typedef struct diff_growth {
    double v, low, high; /* 0.94 is 94 % more; v is infinite when there was nothing before */
    bool known;          /* the interval is */
} diff_growth;

/* Of sums before and after, in the unit of the values. */
diff_growth diff_growth_of(const diff *d, double before, double after);

/* Growth that is found four times in five: of the total (share 1), or of a frame with this share of `before` when it
 * alone changed.  0.2 is 20 %; infinite when nothing can be seen. */
double diff_detectable(const diff *d, double share);
