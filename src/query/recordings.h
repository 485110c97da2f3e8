/* query/recordings.h - the amounts of every frame in the recordings of two sides, and tests whether
 * two amounts differ by more than noise.  Pure.
 *
 * With several recordings per side, their differences are measured, and Welch's t-test between
 * runs covers all noise, including that of sampling.  A change of few samples must also pass the
 * exact test of counts, which covers only the noise of sampling.  With one recording per side,
 * only the exact test is possible.  Runs are then assumed to differ by `spread`, a relative
 * standard deviation, and counts are divided by the resulting overdispersion. */
#pragma once
#include "query/select.h"

typedef struct recording {
    const view *v;
    double per;         /* the divisor of the recording's amounts */
    double per_samples; /* number of samples that `per` was computed from; 0: exact */
} recording;

typedef struct recorded {
    const int64_t *flat, *cum; /* by frame */
    int64_t sum;
    double size; /* value of one sample; 0: samples cannot be counted */
    double per;
} recorded;

typedef struct recordings {
    recorded *v; /* the recordings of `before` come first */
    size_t n_before, n;
    double per_before, per_after; /* sums of `per` */
    double samples_before, samples_after;
    bool measured;   /* the noise between runs is measured */
    double spread;   /* the assumed noise */
    double variance; /* of log(after / before), besides that of counts: spread and calibration */
    double *scratch; /* n numbers */
} recordings;

/* With fewer recordings in total, the noise cannot be measured. */
enum { RECORDINGS_MEASURED = 4 };

typedef struct recordings_opts {
    double noise; /* number of correlated neighbouring samples, by which counts are divided; 0: 1 */
    double spread; /* assumed noise between runs; negative: RECORDINGS_SPREAD unless measured */
} recordings_opts;

#define RECORDINGS_SPREAD 0.05

/* Collects the amounts. The result lives in `a`; the views must outlive it. */
NODISCARD bool recordings_of(const recording *before, size_t n_before, const recording *after,
                             size_t n_after, const recordings_opts *o, arena *a, recordings *out,
                             err *e);

typedef enum amount_kind { AMOUNT_FLAT, AMOUNT_CUM, AMOUNT_TOTAL } amount_kind;

/* The samples of a frame before and after. For the total, the frame is ignored. */
typedef struct sample_counts {
    double before, after;
} sample_counts;
sample_counts recordings_counts(const recordings *r, amount_kind k, uint32_t before,
                                uint32_t after);

/* Returns the p-value of the hypothesis that frame `before` cost as much before as frame `after`
 * costs after. Both are the same frame, or two names of it. */
double recordings_p(const recordings *r, amount_kind k, uint32_t before, uint32_t after);

/* Converts amounts to shares of each recording's sum, to test whether a frame's share changed. */
NODISCARD bool recordings_as_shares(const recordings *r, arena *a, recordings *out, err *e);

/* Returns the standard error of the total's log(after / before) between runs; 0 if not measured. */
double recordings_run_error(const recordings *r);
/* Returns the relative standard deviation of the total between runs; 0 if not measured. */
double recordings_run_spread(const recordings *r);
