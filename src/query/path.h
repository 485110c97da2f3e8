/* query/path.h - paths of frames as text: labels from the root, separated by semicolons.  Pure. */
#pragma once
#include "base/err.h"
#include "query/frame.h"

typedef struct frame_path {
    str *v; /* labels, without escapes */
    size_t n;
} frame_path;

/* Reads "main;run;parse".  In a label, `\;` is a semicolon and `\\` a backslash.  Empty text is an
 * empty path.  Memory from `a`; ERR_MEMORY. */
NODISCARD bool frame_path_read(str text, arena *a, frame_path *out, err *e);

/* Returns whether the outermost frames of a stack, or its innermost ones, have the labels of the
 * path.  leaf_first: ids of its n frames. */
bool frame_path_fits(const frame_path *p, const frame_table *f, const uint32_t *leaf_first,
                     uint32_t n, bool at_leaf);
