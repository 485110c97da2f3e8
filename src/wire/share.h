/* wire/share.h - where the bytes of an OTLP message go: tables of the dictionary, fields of samples,
 * the rest.  Walks by the schema tables, so it works for every layout.  Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "wire/layout.h"

enum { SHARES_MAX = 64 };

typedef struct share {
    const char
        *name; /* field name: "string_table", "samples"; "" for what holds the rest together */
    const char
        *within;    /* "samples" for a field of a sample, which "samples" also counts; else NULL */
    uint64_t bytes; /* tags and lengths included */
    uint64_t count; /* elements */
} share;

typedef struct shares {
    share v[SHARES_MAX]; /* in order of appearance */
    size_t n;
    uint64_t bytes; /* of all messages: what the v[] without `within` sum up to */
} shares;

/* Adds one message of this layout to *s (zero at first). */
NODISCARD bool shares_add(shares *s, str message, layout l, err *e);
/* Largest first; ties by name. */
void shares_sort(shares *s);
