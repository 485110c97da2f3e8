/* ctx/maps.h - the lines of /proc/PID/maps. */
#pragma once
#include "base/str.h"

typedef struct map_line {
    uint64_t start, end, offset, inode;
    bool readable, writable, executable;
    str name; /* "": the memory has no name */
} map_line;

/* Parses and removes the next line of *text; skips malformed ones.  Returns false at the end. */
bool maps_next(str *text, map_line *out);
