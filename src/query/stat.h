/* query/stat.h - did it change, or is it noise: tests for counts of samples and for runs.  Pure.
 *
 *   counts:  a in t_a against b in t_b     exact conditional binomial test of two Poisson rates
 *   runs:    x_1 .. x_n against y_1 .. y_m  Welch's t-test, Student's for a side of one run
 *
 * The first knows the noise of sampling alone, the second whatever made runs of one side differ.  Both give
 * two-sided p-values.  Where every cell of the first holds many counts the exact sum is replaced by the
 * normal limit with continuity correction. */
#pragma once
#include "base/arena.h"

/* p-value of "the rate did not change", t_a and t_b in one unit; 1 when a time is not positive.  Counts may
 * be parts of counts (divided by what they vary more than Poisson); few are rounded. */
double stat_rate_p(double a, double t_a, double b, double t_b);

/* p-value of "the mean did not change"; 1 with fewer than three numbers in all or an empty side.  Numbers that
 * do not vary on either side make it 0. */
double stat_mean_p(const double *x, size_t n_x, const double *y, size_t n_y);

/* A side of runs: how many, their mean, and the sum of squared distances from it. */
typedef struct stat_sample {
    double n, mean, squares;
} stat_sample;

stat_sample stat_sample_of(const double *x, size_t n);

/* Two-sided p-value of Student's t. */
double stat_t_p(double t, double df);

/* Benjamini and Hochberg: puts into adjusted[i] the smallest false discovery rate at which p[i] is
 * called a change.  `p` and `adjusted` may be the same array.  false at the budget of `scratch`. */
NODISCARD bool stat_fdr(const double *p, size_t n, double *adjusted, arena *scratch);

/* z with Pr(Z > z) = p, for 0 < p < 1; the same of Student's t. */
double stat_normal_quantile(double p);
double stat_t_quantile(double p, double df);
