/* speedscope in the table of formats, and its units. */
#include "format/speedscope.h"

#include "format/json_read.h"
#include "base/ban.h"

static const speedscope_unit units[] = {
    {"none", "samples", "count", 0, false},
    {"bytes", "space", "bytes", 0, false},
    {"nanoseconds", "wall", "nanoseconds", 0, true},
    {"microseconds", "wall", "nanoseconds", 3, true},
    {"milliseconds", "wall", "nanoseconds", 6, true},
    {"seconds", "wall", "nanoseconds", 9, true},
};

const speedscope_unit *speedscope_unit_named(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_eq(str_of(units[i].name), name)) return &units[i];
    return NULL;
}

/* Returns the longer unit of time with this name. Values in it are written unchanged, as weights; a
 * reader converts them to nanoseconds. */
const speedscope_unit *speedscope_unit_as_is(str name)
{
    static const speedscope_unit as_is[] = {
        {"microseconds", "wall", "nanoseconds", 0, false},
        {"milliseconds", "wall", "nanoseconds", 0, false},
        {"seconds", "wall", "nanoseconds", 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(as_is); i++)
        if (str_eq(str_of(as_is[i].name), name)) return &as_is[i];
    return NULL;
}

/* ---- the format ---- */

static unsigned detect(str bytes)
{
    return json_kind_of(bytes) == JSON_KIND_SPEEDSCOPE ? JSON_KIND_SURE : 0;
}

const format format_speedscope = {
    .name = "speedscope",
    .what = "speedscope JSON, evented and sampled",
    .suffixes = ".speedscope.json .speedscope",
    .carries = CARRIES(STACKS) | CARRIES(TYPES) | CARRIES(LINES) | CARRIES(COLUMNS),
    .text = true,
    .detect = detect,
    .read = speedscope_read,
    .write = speedscope_write,
};
