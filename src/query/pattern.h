/* query/pattern.h - does a text match?  Regular expressions (pcre2) or plain text, with limits.  Pure.
 *
 * A pattern is compiled once and asked once per distinct string: a matcher remembers the verdict of
 * every string of one dictionary.  Matching has a budget of steps: a pattern that backtracks without
 * end is an error that says so, never a hang. */
#pragma once
#include "base/err.h"
#include "model/model.h"

enum {
    PATTERN_MAX_BYTES = 64 * 1024,  /* of a pattern's text */
    PATTERN_MATCH_LIMIT = 200000,   /* pcre2's steps for one text */
    PATTERN_DEPTH_LIMIT = 10000,    /* pcre2's backtracking depth */
    PATTERN_HEAP_LIMIT = 16 * 1024, /* KiB for backtracking */
};

typedef struct pattern pattern;

/* Compiles `text`; plain text is found anywhere in a string.  `name` is what the option is called and
 * begins error sentences; it must outlive the pattern.  ERR_USAGE for text that is no expression,
 * ERR_LIMIT at the arena's budget.  The pattern lives in `a`, but pattern_free must be called: machine
 * code is not the arena's. */
NODISCARD bool pattern_new(str text, bool literal, const char *name, arena *a, pattern **out,
                           err *e);
/* The same for an expression that has to match a whole string. */
NODISCARD bool pattern_new_whole(str text, const char *name, arena *a, pattern **out, err *e);
void pattern_free(pattern *p); /* NULL is fine */

/* *yes: does the pattern occur in s?  false: ERR_LIMIT, the expression is too costly for s. */
NODISCARD bool pattern_match(pattern *p, str s, bool *yes, err *e);

/* ---- the strings of one dictionary ---- */

typedef struct matcher {
    pattern *p; /* NULL: no pattern was given, nothing matches */
    const dict *d;
    uint8_t *seen; /* by string: 0 not asked, 1 no, 2 yes */
} matcher;

NODISCARD bool matcher_new(pattern *p, const dict *d, arena *a, matcher *out, err *e);
NODISCARD bool matcher_string(matcher *m, uint32_t i, bool *yes, err *e);
/* Name or file of a function; function 0 matches nothing. */
NODISCARD bool matcher_function(matcher *m, uint32_t i, bool *yes, err *e);
/* File of a mapping; mapping 0 matches nothing. */
NODISCARD bool matcher_mapping(matcher *m, uint32_t i, bool *yes, err *e);
