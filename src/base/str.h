/* base/str.h - a view of bytes that another object owns.  Not terminated. */
#pragma once
#include "base/compiler.h"
#include <string.h>

typedef struct str {
    const char *p;
    size_t n;
} str;

#define STR(literal) ((str){"" literal, sizeof(literal) - 1})
#define STR_ARG(s) (int)(s).n, (s).n ? (s).p : "" /* for "%.*s" */

static inline str str_of(const char *z) /* z is terminated, or NULL for "" */
{
    return (str){z, z ? strlen(z) : 0};
}

static inline bool str_eq(str a, str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Orders by bytes; a prefix precedes longer strings. */
static inline int str_cmp(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int d = n ? memcmp(a.p, b.p, n) : 0;
    return d ? d : (a.n > b.n) - (a.n < b.n);
}

static inline bool str_starts(str s, str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool str_ends(str s, str suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}
