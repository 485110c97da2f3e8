/* query/diff.h - finds changes in cost between two sides that exceed noise. Pure.
 *
 * A side is one recording or several of the same work. Amounts (time, bytes, samples) are compared:
 * the total, and the self and cumulative amount of each frame. Each is divided by the divisor of
 * its recording (query/per.h). Shares are shown but never tested: when one function gets faster,
 * the shares of all others grow.
 *
 * All tests together keep the false discovery rate; half of it is reserved for the total. Frames
 * that do not pass are included too, marked as noise. */
#pragma once
#include "query/recordings.h"

typedef enum diff_verdict {
    DIFF_NOISE, /* no more than two runs of the same program may differ */
    DIFF_GREW,
    DIFF_SHRANK,
    DIFF_UNTESTED, /* different, but not tested: see diff.untested */
} diff_verdict;

typedef struct diff_side {
    int64_t flat, cum;
} diff_side;

typedef struct diff_row {
    uint32_t frame;                 /* NO_FRAME: the total */
    diff_side before, after;        /* sums over the recordings of a side */
    double flat_change, cum_change; /* after / per_after - before / per_before */
    double flat_q, cum_q; /* the smallest false discovery rate at which the change counts */
    diff_verdict flat, cum;
    bool moved; /* grew by what another frame lost: inlined or renamed, not a regression */
} diff_row;

typedef struct diff_opts {
    bool by_cum;   /* order by the cumulative change */
    double fdr;    /* false discovery rate; 0: DIFF_FDR */
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
    size_t n_tests;   /* tested hypotheses, including the total */
    int64_t sum_before, sum_after;
    double per_before, per_after; /* the divisors of the sums */
    size_t runs_before, runs_after;
    double samples_before, samples_after; /* effective numbers */
    double fdr;
    bool measured;     /* the noise between runs was measured */
    double spread;     /* assumed relative standard deviation between runs */
    double variance;   /* of log(after / before), besides counts and measured noise */
    double run_error;  /* of log(after / before) of the total between runs; 0: not measured */
    double run_spread; /* relative standard deviation between runs of a side; 0: not measured */
    bool uniform;      /* the total changed, and all frames in proportion */
    uint32_t most; /* frame whose self amount changed most in the total's direction, or NO_FRAME */
    const char *untested; /* the reason when nothing could be tested, else NULL */
} diff;

/* Compares views that share a table of frames.  ERR_MISMATCH when their units differ. */
NODISCARD bool diff_of(const recording *before, size_t n_before, const recording *after,
                       size_t n_after, const diff_opts *o, arena *a, diff *out, err *e);

/* Returns whether the total or a frame became more expensive.  Moved frames do not count. */
static inline bool diff_regressed(const diff *d) { return d->total.cum == DIFF_GREW || d->n_grew; }

/* Return amounts after division. */
static inline double diff_before(const diff *d, int64_t sum) { return (double)sum / d->per_before; }
static inline double diff_after(const diff *d, int64_t sum) { return (double)sum / d->per_after; }

/* after / before - 1, with its 95 % confidence interval. */
typedef struct diff_growth {
    double v, low, high; /* 0.94 is 94 % more; v is infinite when `before` is 0 */
    bool known;          /* the interval is known */
} diff_growth;

/* Computes the growth from sums before and after, in the unit of the values. */
diff_growth diff_growth_of(const diff *d, double before, double after);

/* Returns the smallest growth that is detected with a probability of 80 %: of the total (share
 * 1), or of a single frame with this share of `before`.  0.2 is 20 %; infinite when no growth
 * can be detected. */
double diff_detectable(const diff *d, double share);
