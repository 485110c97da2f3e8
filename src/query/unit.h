/* query/unit.h - units of values and labels, and conversions between them. Pure.
 *
 * Names of pprof ("nanoseconds", "kB", "hours") and of UCUM ("ns", "By", "KiBy", "{samples}", "1")
 * are accepted alike. Units of bytes are powers of 1024, as in pprof. */
#pragma once
#include "base/str.h"

typedef enum unit_kind { UNIT_OTHER, UNIT_BYTES, UNIT_TIME } unit_kind;

typedef struct unit_info {
    unit_kind kind;
    double factor;    /* one unit in bytes or nanoseconds */
    const char *name; /* "ns", "kB"; NULL for unknown units */
} unit_info;

unit_info unit_of(str name);

/* Returns whether values of this unit are numbers of samples. */
bool unit_counts(str unit);

enum { UNIT_TEXT_MAX = 64 };

/* Converts v from unit `from` to `to`; "auto" selects the largest unit in which v is at least
 * 1.  Sets *name to the unit of the result: "" for "count". */
double unit_scale(int64_t v, str from, str to, str *name);

/* Writes a number as pprof does ("1.50kB", "32B", "1000") and returns the length. */
size_t unit_label(int64_t v, str from, str to, char out[UNIT_TEXT_MAX]);
