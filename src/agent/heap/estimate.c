/* The mathematics of sampling, without libm, because the library may depend on libc only.  The
 * error is below 1e-12 (test_heap_estimate compares with libm). */
#include "agent/heap/estimate.h"

#include "base/hash.h"

#include <string.h>

static const double LN2 = 0.693147180559945309417;

/* Returns ln(x) of a positive normal number.  Splits off the exponent and sums 2 atanh((m - 1) / (m
 * + 1)) as a series. */
static double natural_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m /= 2;
        exponent++;
    }
    double z = (m - 1) / (m + 1), square = z * z, sum = 0;
    for (int i = 17; i >= 1; i -= 2) sum = sum * square + 2.0 / i;
    return exponent * LN2 + z * sum;
}

/* Returns 1 - exp(-x) for x > 0, without cancellation: x = k ln 2 + r, then r (1 - r/2 (1 - r/3
 * (...))). */
static double hit(double x)
{
    if (x > 40) return 1;
    unsigned k = (unsigned)(x / LN2);
    double r = x - k * LN2, sum = 1, scale = 1 / (double)(UINT64_C(1) << k);
    for (int i = 18; i >= 2; i--) sum = 1 - r / i * sum;
    return (1 - scale) + scale * r * sum;
}

/* Returns the next random number (splitmix64). */
static uint64_t next(uint64_t *random)
{
    uint64_t r = hash_mix(*random, 0);
    *random += 0x9e3779b97f4a7c15u;
    return r;
}

uint64_t estimate_distance(uint64_t interval, uint64_t *random)
{
    if (interval <= 1) return 1;
    double uniform = (double)((next(random) >> 11) + 1) * 0x1p-53; /* (0, 1] */
    double distance = -natural_log(uniform) * (double)interval;
    uint64_t whole = (uint64_t)distance;
    return whole + ((double)whole < distance || !whole);
}

estimate estimate_of(uint64_t size, uint64_t interval)
{
    double weight = interval <= 1 ? 1 : 1 / hit((double)size / (double)interval);
    return (estimate){(int64_t)(weight * (1 << ESTIMATE_OBJECT_BITS) + 0.5),
                      (int64_t)(weight * (double)size * (1 << ESTIMATE_SPACE_BITS) + 0.5)};
}
