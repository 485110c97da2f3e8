/* query/recordings.h - the amounts of every frame in the recordings of two sides, and whether two amounts differ
 * by more than noise.  Pure.
 *
 * With several recordings a side their differences are measured, and Welch's t-test between runs knows all noise,
 * that of sampling included; a change of few samples has to pass the exact test of the counts, too, which knows
 * the noise of sampling alone.  With one a side only that one can be made; runs are then assumed to differ by `spread`, a standard
 * deviation in parts of the amount, and counts are divided by what that makes them vary more than Poisson. */
#pragma once
#include "query/select.h"

typedef struct recording {
    const view *v;
    double per;         /* what its amounts are divided by */
    double per_samples; /* that `per` was measured with; 0: it is exact */
} recording;

typedef struct recorded {
    const int64_t *flat, *cum; /* by frame */
    int64_t sum;
    double size; /* value of a sample; 0: nothing can be counted */
    double per;
} recorded;

typedef struct recordings {
    recorded *v; /* those of before first */
    size_t n_before, n;
    double per_before, per_after; /* sums of `per` */
    double samples_before, samples_after;
    bool measured; /* the noise between runs is */
    double spread; /* what is assumed for it */
    double
        variance; /* of the logarithm of a ratio, beyond that of counts: spread and calibration */
    double *scratch; /* n numbers */
} recordings;

/* Fewer recordings of both sides together say too little about their noise. */
enum { RECORDINGS_MEASURED = 4 };

typedef struct recordings_opts {
    double noise;  /* how many neighbouring samples say the same: counts are divided by it; 0: 1 */
    double spread; /* assumed between runs; negative: RECORDINGS_SPREAD unless it is measured */
} recordings_opts;

#define RECORDINGS_SPREAD 0.05

/* Everything lives in `a`; the views must outlive it. */
NODISCARD bool recordings_of(const recording *before, size_t n_before, const recording *after,
                             size_t n_after, const recordings_opts *o, arena *a, recordings *out,
                             err *e);

typedef enum amount_kind { AMOUNT_FLAT, AMOUNT_CUM, AMOUNT_TOTAL } amount_kind;

/* Samples before and after of a frame (any, for the total). */
typedef struct sample_counts {
    double before, after;
} sample_counts;
sample_counts recordings_counts(const recordings *r, amount_kind k, uint32_t before,
                                uint32_t after);

/* p-value of "frame `before` cost as much before as frame `after` does after": one frame, or two names of it. */
double recordings_p(const recordings *r, amount_kind k, uint32_t before, uint32_t after);

/* The same recordings with every amount a part of its recording's sum: did the frame's share change? */
NODISCARD bool recordings_as_shares(const recordings *r, arena *a, recordings *out, err *e);

/* Standard error of the total's logarithm of after / before, as measured between runs, relative; 0: not measured. */
double recordings_run_error(const recordings *r);
/* Standard deviation of the total between runs of one side, relative; 0: not measured. */
double recordings_run_spread(const recordings *r);
