/* format/speedscope.h - reads and writes speedscope's JSON; docs/speedscope.md has the mapping. */
#pragma once
#include "format/format.h"

enum { SPEEDSCOPE_MAX_PROFILES = 100000 };

/* format_speedscope.read and .write. */
NODISCARD bool speedscope_read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                               layout_verdict *verdict, err *e);
NODISCARD bool speedscope_write(const format *f, const model *m, const write_opts *o, buf *out,
                                err *e);

/* A unit of the schema; the model's value is the file's times 10^scale. */
typedef struct speedscope_unit {
    const char *name; /* "seconds" */
    const char *type, *unit;
    int scale;
    bool is_time;
} speedscope_unit;

const speedscope_unit *speedscope_unit_named(str name); /* NULL: the schema has no such unit */
/* Returns the unit for values that already have it (scale 0); NULL if it is not one of the longer
 * units of time. */
const speedscope_unit *speedscope_unit_as_is(str name);
