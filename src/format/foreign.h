/* format/foreign.h - files that people have and Kiln does not read: what they are, and which command makes something of them
 * that it reads.  Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct foreign {
    const char *what; /* "an xz archive" */
    const char *way; /* a sentence's second half: "`xz -d` unpacks it"; NULL: it is not a profile */
} foreign;

/* Looks at the first bytes of a decompressed input; NULL: none of those. */
const foreign *foreign_find(str bytes);

/* The list, for tests and docs; *n entries. */
const foreign *foreign_list(size_t *n);

/* Refuses an input that no reader knows: names it if it can.  Speaks of no option; the hint does.  Always false. */
bool foreign_refuse(str bytes, err *e);
