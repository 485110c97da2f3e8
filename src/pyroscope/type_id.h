/* pyroscope/type_id.h - ids of profile types, name:type:unit:period type:period unit.  Pure.
 *
 * OTLP has no `name`.  It is derived from the types by one table, so that a series gets the id by
 * which Grafana knows such profiles: cpu in nanoseconds is process_cpu:cpu:nanoseconds:cpu:nanoseconds.
 * A part never contains a colon; empty parts are allowed. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

/* Profiles that arrive over Pyroscope's protocols have a name.  It is kept as an attribute of their
 * *scope*: the scope is part of a series, so a name costs nothing per profile or sample, profiles of
 * one name are one scope, and {__name__="memory"} selects them.  Two names in one file (a JFR
 * recording) become two scopes.  Profiles of other senders have no such attribute, and pyro_type_of
 * derives a name. */
#define PYRO_NAME "__name__"
#define PYRO_SPY "pyroscope_spy"      /* scope: the profiler, such as "gospy" */
#define PYRO_SESSION "__session_id__" /* resource: the only private label that is stored */

enum { PYRO_TYPE_BYTES = 1024 }; /* longest id in a request */

typedef struct pyro_type {
    str name, type, unit, period_type, period_unit;
} pyro_type;

/* Splits an id of 5 parts, or 6 of which the last (delta) is ignored.  The parts are views.
 * ERR_USAGE. */
NODISCARD bool pyro_type_parse(str id, pyro_type *out, err *e);

/* Sets *out to the id, in memory of the arena.  ERR_MEMORY. */
NODISCARD bool pyro_type_format(const pyro_type *t, arena *a, str *out, err *e);

static inline bool pyro_type_eq(const pyro_type *a, const pyro_type *b)
{
    return str_eq(a->name, b->name) && str_eq(a->type, b->type) && str_eq(a->unit, b->unit) &&
           str_eq(a->period_type, b->period_type) && str_eq(a->period_unit, b->period_unit);
}

/* Sets *value if `key` is a label that the type determines: __profile_type__, __name__, __type__,
 * __unit__, __period_type__, __period_unit__.  Otherwise sets it to "" and *is to false. */
NODISCARD bool pyro_type_label(const pyro_type *t, str key, arena *a, bool *is, str *value, err *e);

/* Facts about a stored series. */
typedef struct pyro_source {
    str type, unit, period_type, period_unit;
    int64_t period; /* 0: the type of the period does not count */
    str name;       /* the name that the sender gave; empty: derive one */
    str scope;      /* name of the scope, which distinguishes mutex from block */
    /* The recording also has cpu in nanoseconds, as Go's does: then its samples stay a count.
     * Without it, samples times period are its CPU time. */
    bool has_cpu_time;
} pyro_source;

/* Derives the type of a series.  Values are multiplied by *scale: 1, or the period where samples
 * become nanoseconds.  Colons become underscores.  ERR_MEMORY. */
NODISCARD bool pyro_type_of(const pyro_source *s, arena *a, pyro_type *out, int64_t *scale, err *e);
