/* agent/heap/estimate.h - the distance to the next sample, and the weight of a sample.  Pure.
 *
 * Think of all allocated bytes as a line.  Sampling points are on it `interval` apart on average,
 * independent of each other (a Poisson process).  A block is sampled when it contains at least one
 * point.  The probability of this is p = 1 - exp(-size / interval), and the sampled block
 * represents 1 / p blocks of its size.  For any mix of sizes, the expected value of a sum of such
 * estimates is the true sum.
 *
 * The process has no memory, so the distance to the next point may be drawn again at any time.
 * Rounding distances up to whole bytes keeps the probability exact. */
#pragma once
#include "base/compiler.h"

#define ESTIMATE_INTERVAL_MAX (UINT64_C(1) << 32)

/* Fixed point, so that sums keep fractions: objects in 1/2^16, bytes in 1/2^6. */
enum { ESTIMATE_OBJECT_BITS = 16, ESTIMATE_SPACE_BITS = 6 };

typedef struct estimate {
    int64_t objects, space;
} estimate;

/* Returns the number of bytes up to and including the one with the next point; at least 1.
 * `random` is the state of the random generator; any seed is valid.  interval 0 or 1: every byte
 * has a point. */
uint64_t estimate_distance(uint64_t interval, uint64_t *random);

/* Returns the weight of a sampled block of `size` bytes; size must be at least 1. */
estimate estimate_of(uint64_t size, uint64_t interval);

/* Converts a sum of fixed-point estimates to an integer. */
static inline int64_t estimate_round(int64_t sum, int bits)
{
    return (sum + (INT64_C(1) << (bits - 1))) >> bits;
}
