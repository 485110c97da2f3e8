/* query/stat.h - statistical tests for counts of samples and for runs.  Pure.
 *
 *   counts:  a in t_a against b in t_b     exact conditional binomial test of two Poisson rates
 *   runs:    x_1 .. x_n against y_1 .. y_m  Welch's t-test, Student's for a side of one run
 *
 * The first test covers only sampling noise, the second all differences between runs of one side.
 * Both return two-sided p-values.  When all cells of the first have many counts, the normal
 * approximation with continuity correction replaces the exact sum. */
#pragma once
#include "base/arena.h"

/* Returns the p-value of the hypothesis of equal rates, with t_a and t_b in the same unit; 1 when a
 * time is not positive. Counts may be fractions (divided by their overdispersion); small ones are
 * rounded. */
double stat_rate_p(double a, double t_a, double b, double t_b);

/* Returns the p-value of the hypothesis of equal means; 1 with fewer than three numbers in total or
 * an empty side. 0 when the means differ and the numbers do not vary. */
double stat_mean_p(const double *x, size_t n_x, const double *y, size_t n_y);

/* The runs of a side: number, mean, and sum of squared deviations. */
typedef struct stat_sample {
    double n, mean, squares;
} stat_sample;

stat_sample stat_sample_of(const double *x, size_t n);

/* Returns the two-sided p-value of Student's t. */
double stat_t_p(double t, double df);

/* Benjamini-Hochberg: sets adjusted[i] to the smallest false discovery rate at which p[i] is
 * significant.  `p` and `adjusted` may be the same array.  Returns false when `scratch` is out
 * of memory. */
NODISCARD bool stat_fdr(const double *p, size_t n, double *adjusted, arena *scratch);

/* Return z with Pr(Z > z) = p, for 0 < p < 1, for the normal distribution and for Student's t. */
double stat_normal_quantile(double p);
double stat_t_quantile(double p, double df);
