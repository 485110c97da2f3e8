/* wire/share.h - counts the bytes of an OTLP message by part: tables of the dictionary, fields of
 * samples, the rest.  Walks by the schema tables, so it works for every layout.  Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "wire/layout.h"

enum { SHARES_MAX = 64 };

typedef struct share {
    const char *name;   /* field name: "string_table", "samples"; "" for the messages around them */
    const char *within; /* "samples": part of the entry "samples"; NULL: not part of another */
    uint64_t bytes;     /* tags and lengths included */
    uint64_t count;     /* elements */
} share;

typedef struct shares {
    share v[SHARES_MAX]; /* in order of appearance */
    size_t n;
    uint64_t bytes; /* size of all messages: the sum of the entries without `within` */
} shares;

/* Adds one message of this layout to *s, which starts as zero. */
NODISCARD bool shares_add(shares *s, str message, layout l, err *e);
/* Sorts the parts, largest first; ties by name. */
void shares_sort(shares *s);
