/* base/words.h - parses numbers and sizes that users type, and finds the nearest word. Pure. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

/* Parses a decimal number ("2", "-0.5") at the start of `text`; sets *rest to the text after it. */
NODISCARD bool decimal_at(str text, double *v, str *rest);

/* Parses "64M", "1GiB", "1048576". Returns false for other text. */
NODISCARD bool size_parse(str text, uint64_t *bytes);

/* Returns the number of edits from a to b: insert, delete, replace, swap of neighbours. */
size_t edit_distance(str a, str b);

/* The closest candidate so far. A candidate is close with at most one edit per three letters. */
typedef struct nearest {
    str wanted;
    const char *name; /* NULL: no candidate is close */
    size_t distance;
} nearest;

nearest nearest_to(str wanted);
void nearest_offer(nearest *n, str candidate, const char *name);
