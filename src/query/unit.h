/* query/unit.h - units of values and labels: which belong together, and by what factor.  Pure.
 *
 * Names of pprof ("nanoseconds", "kB", "hours") and of UCUM ("ns", "By", "KiBy", "{samples}", "1") mean
 * the same things; bytes come in powers of 1024, as pprof counts them. */
#pragma once
#include "base/str.h"

typedef enum unit_kind { UNIT_OTHER, UNIT_BYTES, UNIT_TIME } unit_kind;

typedef struct unit_info {
    unit_kind kind;
    double factor;    /* in bytes or nanoseconds */
    const char *name; /* "ns", "kB"; NULL when it is no unit we know */
} unit_info;

unit_info unit_of(str name);

/* Are values of this unit numbers of samples? */
bool unit_counts(str unit);

enum { UNIT_TEXT_MAX = 64 };

/* v of unit `from`, in `to`: "auto" finds the largest unit that leaves at least 1.  Text of the result's
 * unit in *name: "" where it says nothing ("count"). */
double unit_scale(int64_t v, str from, str to, str *name);

/* "1.50kB", "32B", "1000": pprof's label of a number; returns its length. */
size_t unit_label(int64_t v, str from, str to, char out[UNIT_TEXT_MAX]);
