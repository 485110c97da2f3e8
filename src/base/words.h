/* base/words.h - what people type: numbers, sizes, and which known word they meant.  Pure. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

/* A decimal number ("2", "-0.5") at the beginning; what follows it in *rest. */
NODISCARD bool decimal_at(str text, double *v, str *rest);

/* "64M", "1GiB", "1048576"; false when it is no size. */
NODISCARD bool size_parse(str text, uint64_t *bytes);

/* How many edits lead from a to b (insert, delete, replace, swap of neighbours). */
size_t edit_distance(str a, str b);

/* The closest candidate so far; one edit in three letters is a typing error, more is another word. */
typedef struct nearest {
    str wanted;
    const char *name; /* NULL: none is near */
    size_t distance;
} nearest;

nearest nearest_to(str wanted);
void nearest_offer(nearest *n, str candidate, const char *name);
