/* query/stat.h - did it change, or is it noise: tests for counts of samples.  Pure.
 *
 * A sampled profile is a set of independent draws, so the number of samples in which a frame appears
 * is binomial in the number of samples taken, and Poisson in the time they were taken over.
 *
 *   shares:  a of n_a against b of n_b           Fisher's exact test (hypergeometric)
 *   rates:   a in t_a against b in t_b           exact conditional binomial test
 *
 * Both give two-sided p-values: twice the smaller tail, at most 1.  Where every cell holds many
 * counts the exact sum is replaced by the normal limit with continuity correction. */
#pragma once
#include "base/arena.h"

/* Samples with the frame before and after, out of how many. */
typedef struct stat_counts {
    uint64_t a, n_a, b, n_b;
} stat_counts;

/* p-value of "the share did not change"; 1 when a side has no samples. */
double stat_share_p(stat_counts c);

/* p-value of "the rate did not change", t_a and t_b in one unit; 1 when a time is not positive. */
double stat_rate_p(uint64_t a, double t_a, uint64_t b, double t_b);

/* Benjamini and Hochberg: puts into adjusted[i] the smallest false discovery rate at which p[i] is
 * called a change.  `p` and `adjusted` may be the same array.  false at the budget of `scratch`. */
NODISCARD bool stat_fdr(const double *p, size_t n, double *adjusted, arena *scratch);

/* The smallest growth of a share (in shares, 0.01 = one point) that a single test at level `alpha`
 * finds four times in five, between runs of n_a and n_b samples.  1 when a side has none. */
double stat_detectable(double share, uint64_t n_a, uint64_t n_b, double alpha);

/* z with Pr(Z > z) = p, for 0 < p < 1. */
double stat_normal_quantile(double p);
