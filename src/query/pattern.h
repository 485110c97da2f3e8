/* query/pattern.h - matches text with regular expressions (pcre2) or plain text, with limits.
 * Pure.
 *
 * A pattern is compiled once and evaluated once per distinct string: a matcher caches the result
 * for every string of one dictionary.  Matching has a budget of steps: excessive backtracking is
 * an error, never a hang. */
#pragma once
#include "base/err.h"
#include "model/model.h"

enum {
    PATTERN_MAX_BYTES = 64 * 1024,  /* longest text of a pattern */
    PATTERN_MATCH_LIMIT = 200000,   /* steps of pcre2 for one text */
    PATTERN_DEPTH_LIMIT = 10000,    /* backtracking depth of pcre2 */
    PATTERN_HEAP_LIMIT = 16 * 1024, /* KiB for backtracking */
};

typedef struct pattern pattern;

/* Compiles `text`; plain text matches anywhere in a string.  `name` is the name of the option,
 * which starts error messages; it must outlive the pattern.  ERR_USAGE for text that is not a
 * regular expression, ERR_MEMORY.  The pattern lives in `a`, but the caller calls pattern_free to
 * release machine code. */
NODISCARD bool pattern_new(str text, bool literal, const char *name, arena *a, pattern **out,
                           err *e);
/* Compiles a regular expression that must match a whole string. */
NODISCARD bool pattern_new_whole(str text, const char *name, arena *a, pattern **out, err *e);
void pattern_free(pattern *p); /* p may be NULL */

/* Sets *yes if the pattern occurs in s.  ERR_LIMIT when the expression is too costly for s. */
NODISCARD bool pattern_match(pattern *p, str s, bool *yes, err *e);
/* Sets *yes to whether a regular expression that must match a whole string may match one that begins
 * with s, which is not empty.  False is certain, true is not. */
NODISCARD bool pattern_may_begin(str text, str s, const char *name, arena *a, bool *yes, err *e);

/* ---- the strings of one dictionary ---- */

typedef struct matcher {
    pattern *p; /* NULL: no pattern was given, nothing matches */
    const dict *d;
    uint8_t *seen; /* by string: 0 not evaluated, 1 no, 2 yes */
} matcher;

NODISCARD bool matcher_new(pattern *p, const dict *d, arena *a, matcher *out, err *e);
NODISCARD bool matcher_string(matcher *m, uint32_t i, bool *yes, err *e);
/* Matches the name or file of a function; function 0 matches nothing. */
NODISCARD bool matcher_function(matcher *m, uint32_t i, bool *yes, err *e);
/* Matches the file of a mapping; mapping 0 matches nothing. */
NODISCARD bool matcher_mapping(matcher *m, uint32_t i, bool *yes, err *e);
