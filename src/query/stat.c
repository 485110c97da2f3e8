/* The statistical tests. The incomplete beta function and the quantiles are computed here, because
 * libm has neither and a statistics library would be a dependency for two functions. */
#include "query/stat.h"

#include "base/ban.h"
#include <math.h>

/* From this count on, the normal approximation is within a few percent of the exact tail, whose sum
 * would have that many terms. */
#define MANY 400.0
/* Terms smaller than this fraction of the sum are negligible. */
#define NEGLIGIBLE 1e-17

static double log_choose(double n, double k)
{
    int sign; /* lgamma() writes a global variable */
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

static double two_sided(double lower, double upper)
{
    double p = 2 * fmin(lower, upper);
    return p < 1 ? p : 1;
}

static double normal_tail(double z) { return 0.5 * erfc(z / M_SQRT2); }

/* Returns twice the smaller tail of a normal variable at k, with continuity correction. */
static double normal_two_sided(double k, double mean, double sd)
{
    double away = fabs(k - mean) - 0.5;
    if (away <= 0 || sd <= 0) return 1;
    return two_sided(normal_tail(away / sd), 1);
}

/* ---- rates ---- */

static double binomial_tail(double n, double p, double k, double step)
{
    double term = exp(log_choose(n, k) + k * log(p) + (n - k) * log1p(-p)), sum = 0;
    double odds = p / (1 - p);
    for (; k >= 0 && k <= n; k += step) {
        sum += term;
        if (term < sum * NEGLIGIBLE) break;
        double x = step > 0 ? k : k - 1;
        double ratio = (n - x) / (x + 1) * odds;
        term = step > 0 ? term * ratio : term / ratio;
    }
    return sum;
}

double stat_rate_p(double a, double t_a, double b, double t_b)
{
    if (!(t_a > 0) || !(t_b > 0) || !isfinite(t_a + t_b)) return 1;
    double n = a + b, p = t_b / (t_a + t_b), mean = n * p;
    if (!(n > 0)) return 1;
    if (fmin(mean, n - mean) > MANY) return normal_two_sided(b, mean, sqrt(mean * (1 - p)));
    double k = round(b);
    n = round(a) + k, mean = n * p;
    if (n == 0) return 1;
    return two_sided(binomial_tail(n, p, k, k >= mean ? 1 : -1), 1);
}

/* ---- between runs ---- */

enum {
    FRACTION_TERMS = 300
}; /* terms of the continued fraction; a few dozen are enough up to df 10^5 */

/* One step of Lentz's method. */
static double lentz(double numerator, double *c, double *d)
{
    const double tiny = 1e-300;
    *d = 1 + numerator * *d;
    *c = 1 + numerator / *c;
    if (fabs(*d) < tiny) *d = tiny;
    if (fabs(*c) < tiny) *c = tiny;
    *d = 1 / *d;
    return *c * *d;
}

/* Continued fraction of the incomplete beta function (DLMF 8.17.22), for x below its mean. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;
    for (int m = 1; m <= FRACTION_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        f *= lentz(even, &c, &d);
        double step = lentz(odd, &c, &d);
        f *= step;
        if (fabs(step - 1) < 1e-15) break;
    }
    return f;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_part(double a, double b, double x)
{
    int sign;
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - beta_part(b, a, 1 - x);
    double front = lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
                   b * log1p(-x);
    return exp(front) * beta_fraction(a, b, x) / a;
}

double stat_t_p(double t, double df)
{
    if (isnan(t) || !(df > 0)) return 1;
    if (isinf(t)) return 0;
    return beta_part(df / 2, 0.5, df / (df + t * t));
}

/* Returns the squared standard error of the mean of a side. */
static double mean_error(stat_sample s) { return s.squares / (s.n - 1) / s.n; }

/* Welch's test: if the noise of the sides differs, for example because of different sampling rates,
 * there are fewer degrees of freedom. */
static double welch_p(stat_sample a, stat_sample b)
{
    double u = mean_error(a), v = mean_error(b), t = fabs(a.mean - b.mean) / sqrt(u + v);
    double df = (u + v) * (u + v) / (u * u / (a.n - 1) + v * v / (b.n - 1));
    return u + v > 0 ? stat_t_p(t, df) : 0;
}

/* Student's test: a side with one run is assumed to have the noise of the other. */
static double student_p(stat_sample a, stat_sample b)
{
    double df = a.n + b.n - 2, se = sqrt((a.squares + b.squares) / df * (1 / a.n + 1 / b.n));
    return stat_t_p(fabs(a.mean - b.mean) / se, df);
}

double stat_mean_p(const double *x, size_t n_x, const double *y, size_t n_y)
{
    stat_sample a = stat_sample_of(x, n_x), b = stat_sample_of(y, n_y);
    if (!n_x || !n_y || n_x + n_y < 3 || a.mean == b.mean) return 1;
    return n_x > 1 && n_y > 1 ? welch_p(a, b) : student_p(a, b);
}

stat_sample stat_sample_of(const double *x, size_t n)
{
    stat_sample s = {.n = (double)n};
    for (size_t i = 0; i < n; i++) s.mean += x[i] / s.n;
    for (size_t i = 0; i < n; i++) s.squares += (x[i] - s.mean) * (x[i] - s.mean);
    return s;
}

/* ---- many comparisons ---- */

typedef struct ranked {
    double p;
    size_t i;
} ranked;

static int by_p(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->p != b->p) return a->p < b->p ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

bool stat_fdr(const double *p, size_t n, double *adjusted, arena *scratch)
{
    ranked *r = arena_array(scratch, n, sizeof *r);
    if (!r) return false;
    for (size_t i = 0; i < n; i++) r[i] = (ranked){p[i], i};
    if (n) qsort(r, n, sizeof *r, by_p);
    double least = 1; /* from the largest p down, so that the result is monotone */
    for (size_t rank = n; rank > 0; rank--) {
        double q = r[rank - 1].p * (double)n / (double)rank;
        if (q < least) least = q;
        adjusted[r[rank - 1].i] = least;
    }
    return true;
}

/* ---- detectable changes ---- */

/* Finds the point where `tail` is p by bisection. It is called only a few times per report, so
 * speed does not matter, and bisection needs no table of coefficients. */
static double quantile(double (*tail)(double, double), double df, double p)
{
    double low = -1e9, high = 1e9;
    for (int i = 0; i < 200; i++) {
        double mid = (low + high) / 2;
        if (tail(mid, df) > p)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}

static double normal_upper(double z, double df)
{
    (void)df;
    return normal_tail(z);
}

static double t_upper(double t, double df)
{
    double half = stat_t_p(t, df) / 2;
    return t < 0 ? 1 - half : half;
}

double stat_normal_quantile(double p) { return quantile(normal_upper, 0, p); }

double stat_t_quantile(double p, double df) { return quantile(t_upper, df, p); }
