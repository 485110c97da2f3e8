/* base/search.h - binary search by a condition.
 *
 *   size_t at = SEARCH(0, units.n, i, units.v[i].end <= offset);
 *
 * Returns the first position of [from, to) where the condition, an expression of `i`, is false, or `to`
 * when it is true everywhere.  The condition must be true up to some position and false after it. */
#pragma once
#include <stddef.h>

#define SEARCH(from, to, i, condition)                                                             \
    ({                                                                                             \
        size_t first_ = (from), end_ = (to);                                                       \
        while (first_ < end_) {                                                                    \
            size_t i = first_ + (end_ - first_) / 2;                                               \
            if (condition)                                                                         \
                first_ = i + 1;                                                                    \
            else                                                                                   \
                end_ = i;                                                                          \
        }                                                                                          \
        first_;                                                                                    \
    })
