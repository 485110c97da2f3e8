/* query/samples.h - converts the values of a view to samples, periods and recorded time.  Pure.
 *
 * A count is a number of samples.  A value in the unit of the period is divided by the period.
 * Other values differ in size, and their effective number is (sum)^2 / sum of squares. */
#pragma once
#include "query/select.h"

/* Returns the value of one sample, by which sums are divided to get counts.  0 when samples
 * cannot be counted (negative values, no samples). */
double view_sample_size(const view *v);

/* Returns the period of one sample and sets *unit to its unit, if the values are counts of samples
 * and all profiles have the same period; 0 otherwise. */
int64_t view_period(const view *v, str *unit);

/* Sets *out to the recorded time: the union of the windows of the profiles, within --start and
 * --end. 0: not known. */
NODISCARD bool view_seconds(const view *v, double *out, err *e);
