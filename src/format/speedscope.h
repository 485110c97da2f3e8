/* format/speedscope.h - speedscope's JSON, both ways; docs/speedscope.md has the mapping. */
#pragma once
#include "format/format.h"

enum { SPEEDSCOPE_MAX_PROFILES = 100000 };

NODISCARD bool speedscope_read(str bytes, const read_opts *o, arena *a, model *out, err *e);
NODISCARD bool speedscope_write(const model *m, const write_opts *o, buf *out, err *e);

/* Units of the schema; `scale`: 10^scale of it are one of ours. */
typedef struct speedscope_unit {
    const char *name; /* "seconds" */
    const char *type, *unit;
    int scale;
    bool is_time;
} speedscope_unit;

const speedscope_unit *speedscope_unit_named(str name); /* NULL: the schema has no such unit */
/* The same for values that are in this unit already; NULL: it is none of the longer ones. */
const speedscope_unit *speedscope_unit_as_is(str name);
