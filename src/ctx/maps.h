/* ctx/maps.h - the lines of /proc/PID/maps. */
#pragma once
#include "base/str.h"

typedef struct map_line {
    uint64_t start, end, offset, inode;
    bool readable, writable, executable;
    str name; /* "" for memory without one */
} map_line;

/* Takes the next line off *text; lines that are none are skipped.  false at the end. */
bool maps_next(str *text, map_line *out);
