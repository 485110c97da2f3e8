/* query/samples.h - what the numbers of a view stand for: samples, periods and recorded time.  Pure.
 *
 * How many samples a value stands for: a count is samples; a value in the unit of the period is that many
 * periods; otherwise values differ in size and the effective number is (sum)^2 / sum of squares. */
#pragma once
#include "query/select.h"

/* The value of one sample: what sums are divided by to be counts.  0 when nothing can be counted (negative
 * values, no samples). */
double view_sample_size(const view *v);

/* The time or work that one sample stands for in *unit, where the values are counts of samples and all profiles
 * say the same; 0 otherwise. */
int64_t view_period(const view *v, str *unit);

/* How long it was recorded: the union of the profiles' times, within --start and --end.  0: no profile says it. */
NODISCARD bool view_seconds(const view *v, double *out, err *e);
