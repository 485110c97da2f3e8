#include "query/stat.h"

#include "base/ban.h"
#include <math.h>

/* Cells from here on: the normal limit is within a few percent of the exact tail, and the exact sum
 * would have that many terms. */
#define MANY 400.0
/* Terms smaller than this share of the sum so far no longer move it. */
#define NEGLIGIBLE 1e-17

static double log_choose(double n, double k)
{
    int sign; /* lgamma() itself writes a global */
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

static double two_sided(double lower, double upper)
{
    double p = 2 * fmin(lower, upper);
    return p < 1 ? p : 1;
}

static double normal_tail(double z) { return 0.5 * erfc(z / M_SQRT2); }

/* Twice the smaller tail of a normal variable at k, half a count nearer to the mean than k. */
static double normal_two_sided(double k, double mean, double sd)
{
    double away = fabs(k - mean) - 0.5;
    if (away <= 0 || sd <= 0) return 1;
    return two_sided(normal_tail(away / sd), 1);
}

/* ---- shares: k of the n_b draws are marked, when `marked` of all n_a + n_b are ---- */

typedef struct hyper {
    double marked, n_a, n_b;
} hyper;

static double hyper_log(const hyper *h, double k)
{
    return log_choose(h->n_b, k) + log_choose(h->n_a, h->marked - k) -
           log_choose(h->n_a + h->n_b, h->marked);
}

/* Sum of the probabilities from k on in direction `step`: each term follows from the last, and once
 * past the mode they fall faster than geometrically, so the loop ends early. */
static double hyper_tail(const hyper *h, double k, double step)
{
    double low = fmax(0, h->marked - h->n_a), high = fmin(h->marked, h->n_b);
    double term = exp(hyper_log(h, k)), sum = 0;
    for (; k >= low && k <= high; k += step) {
        sum += term;
        if (term < sum * NEGLIGIBLE) break;
        double x = step > 0 ? k : k - 1; /* ratio of P(x + 1) and P(x) */
        double up = (h->marked - x) * (h->n_b - x), down = (x + 1) * (h->n_a - h->marked + x + 1);
        term *= step > 0 ? up / down : down / up;
    }
    return sum;
}

double stat_share_p(stat_counts c)
{
    if (!c.n_a || !c.n_b || c.a > c.n_a || c.b > c.n_b) return 1;
    hyper h = {(double)c.a + (double)c.b, (double)c.n_a, (double)c.n_b};
    double n = h.n_a + h.n_b, mean = h.marked * h.n_b / n, k = (double)c.b;
    double least = fmin(mean, fmin(h.marked - mean, fmin(h.n_b - mean, h.n_a - (h.marked - mean))));
    if (least > MANY) {
        double var = mean * (h.n_a / n) * ((n - h.marked) / (n - 1));
        return normal_two_sided(k, mean, sqrt(var));
    }
    /* The smaller tail is the one on the side of the mean that k is on. */
    return two_sided(hyper_tail(&h, k, k >= mean ? 1 : -1), 1);
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

double stat_rate_p(uint64_t a, double t_a, uint64_t b, double t_b)
{
    if (!(t_a > 0) || !(t_b > 0) || !isfinite(t_a + t_b)) return 1;
    double n = (double)a + (double)b, p = t_b / (t_a + t_b), k = (double)b, mean = n * p;
    if (n == 0) return 1;
    if (fmin(mean, n - mean) > MANY) return normal_two_sided(k, mean, sqrt(mean * (1 - p)));
    return two_sided(binomial_tail(n, p, k, k >= mean ? 1 : -1), 1);
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

/* ---- how small a change can be seen ---- */

double stat_normal_quantile(double p)
{
    /* Bisection: called a handful of times per report, and needs no table of coefficients. */
    double low = -40, high = 40;
    for (int i = 0; i < 80; i++) {
        double mid = (low + high) / 2;
        if (normal_tail(mid) > p)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}

double stat_detectable(double share, uint64_t n_a, uint64_t n_b, double alpha)
{
    if (!n_a || !n_b) return 1;
    double z = stat_normal_quantile(alpha / 2) + stat_normal_quantile(0.2);
    double weight = 1 / (double)n_a + 1 / (double)n_b;
    /* The variance is that of the grown share, which is what is looked for: two rounds settle it. */
    double delta = 0;
    for (int i = 0; i < 4; i++) {
        double s = fmin(fmax(share + delta / 2, 1 / (double)(n_a + n_b)), 0.5);
        delta = z * sqrt(s * (1 - s) * weight);
    }
    return fmin(delta, 1);
}
