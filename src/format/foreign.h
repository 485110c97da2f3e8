/* format/foreign.h - kinds of files that Kiln recognizes but does not read, and the command that
 * converts each to a format that it reads. Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct foreign {
    const char *what; /* "an xz archive" */
    const char *way;  /* rest of the sentence: "`xz -d` unpacks it"; NULL: not a profile */
} foreign;

/* Identifies a decompressed input by its first bytes. Returns NULL when it is unknown. */
const foreign *foreign_find(str bytes);

/* Returns all kinds, for tests and docs. Sets *n to their number. */
const foreign *foreign_list(size_t *n);

/* Reports that no reader accepts the input, and names its kind if known. Only the hint mentions
 * command-line options. Always returns false. */
bool foreign_reject(str bytes, err *e);
