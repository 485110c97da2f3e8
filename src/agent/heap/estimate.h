/* agent/heap/estimate.h - how far it is to the next sample, and what a sample stands for.  Pure.
 *
 * Points lie on the line of all allocated bytes, `interval` apart on average and independent of each other
 * (a Poisson process).  A block is sampled when at least one point lies in it, which has the probability
 * p = 1 - exp(-size / interval), and then stands for 1 / p blocks of its size.  Whatever the sizes, sums of
 * such estimates have the true sum as their expectation.
 *
 * Because the process has no memory, the distance to the next point may be drawn anew at any time; and
 * distances rounded up to whole bytes keep the probability above exactly. */
#pragma once
#include "base/compiler.h"

#define ESTIMATE_INTERVAL_MAX (UINT64_C(1) << 32)

/* Fixed point, so that sums keep fractions: objects in 1/2^16, bytes in 1/2^6. */
enum { ESTIMATE_OBJECT_BITS = 16, ESTIMATE_SPACE_BITS = 6 };

typedef struct estimate {
    int64_t objects, space;
} estimate;

/* Bytes up to and with the one that holds the next point: at least 1.  `chance` is the generator's state; any
 * value will do as a seed.  An interval of 0 or 1: every byte holds a point. */
uint64_t estimate_distance(uint64_t interval, uint64_t *chance);

/* What a sampled block of `size` bytes, at least 1, stands for. */
estimate estimate_of(uint64_t size, uint64_t interval);

/* A sum of fixed-point estimates as a whole number. */
static inline int64_t estimate_round(int64_t sum, int bits)
{
    return (sum + (INT64_C(1) << (bits - 1))) >> bits;
}
