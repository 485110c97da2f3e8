/* agent/exclude.h - excludes threads by name. */
#pragma once
#include "base/str.h"

/* Returns whether `name` begins with one of the comma-separated prefixes.  NULL: no prefixes. */
static inline bool name_excluded(const char *name, const char *prefixes)
{
    str n = str_of(name), rest = str_of(prefixes);
    while (rest.n) {
        const char *comma = memchr(rest.p, ',', rest.n);
        str one = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
        if (one.n && str_starts(n, one)) return true;
        rest.p += one.n + (comma != NULL);
        rest.n -= one.n + (comma != NULL);
    }
    return false;
}
