/* Ids of profile types, and the names of types that have none.  The table follows Pyroscope's rules
 * for OTLP and the list of types that Grafana shows by name. */
#include "pyroscope/type_id.h"

#include "base/buf.h"

#include "base/ban.h"

enum { PARTS = 5 };

static str *part(pyro_type *t, size_t i)
{
    str *const parts[PARTS] = {&t->name, &t->type, &t->unit, &t->period_type, &t->period_unit};
    return parts[i];
}

bool pyro_type_parse(str id, pyro_type *out, err *e)
{
    size_t n = 1, from = 0, at = 0;
    *out = (pyro_type){0};
    if (id.n > PYRO_TYPE_BYTES)
        return err_set(e, ERR_USAGE, "the profile type has more than %d bytes", PYRO_TYPE_BYTES);
    for (size_t i = 0; i < id.n; i++) n += id.p[i] == ':';
    if (n != PARTS && n != PARTS + 1)
        return err_set(e, ERR_USAGE,
                       "profile-type selection must be of the form "
                       "<name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>(:delta), "
                       "got(%zu)",
                       n);
    for (size_t i = 0; i < PARTS; i++, from = at + 1) {
        for (at = from; at < id.n && id.p[at] != ':';) at++;
        *part(out, i) = (str){id.p + from, at - from};
    }
    return true;
}

bool pyro_type_format(const pyro_type *t, arena *a, str *out, err *e)
{
    pyro_type copy = *t;
    size_t n = PARTS - 1, at = 0;
    for (size_t i = 0; i < PARTS; i++) n += part(&copy, i)->n;
    char *to = arena_alloc(a, n);
    if (!to) return arena_spent(a, e);
    for (size_t i = 0; i < PARTS; i++) {
        str s = *part(&copy, i);
        if (i) to[at++] = ':';
        if (s.n) memcpy(to + at, s.p, s.n);
        at += s.n;
    }
    *out = (str){to, n};
    return true;
}

bool pyro_type_label(const pyro_type *t, str key, arena *a, bool *is, str *value, err *e)
{
    static const str keys[PARTS] = {STR("__name__"), STR("__type__"), STR("__unit__"),
                                    STR("__period_type__"), STR("__period_unit__")};
    pyro_type copy = *t;
    *is = true;
    if (str_eq(key, STR("__profile_type__"))) return pyro_type_format(t, a, value, e);
    for (size_t i = 0; i < PARTS; i++)
        if (str_eq(key, keys[i])) return *value = *part(&copy, i), true;
    *is = false;
    *value = (str){0};
    return true;
}

/* ---- types without a name ---- */

/* The first row whose words begin the type gives the name.  The period is that of Grafana's list,
 * for series without one; an empty one is that of the type itself. */
static const struct row {
    const char *begins, *name, *period_type, *period_unit;
} table[] = {
    {"cpu", "process_cpu", "cpu", "nanoseconds"},
    {"samples", "process_cpu", "cpu", "nanoseconds"},
    {"wall", "wall", "wall", "nanoseconds"},
    {"off_cpu", "off_cpu", "", ""},
    {"off-cpu", "off_cpu", "", ""},
    {"alloc_", "memory", "space", "bytes"},
    {"inuse_", "memory", "space", "bytes"},
    {"goroutine", "goroutine", "goroutine", "count"},
    {"lock_", "mutex", "contentions", "count"},
    {"contentions", "block", "contentions", "count"},
    {"delay", "block", "contentions", "count"},
};

static const struct row *row_of(str type)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_starts(type, str_of(table[i].begins))) return &table[i];
    return NULL;
}

static bool contains(str s, str word) { return s.n && memmem(s.p, s.n, word.p, word.n) != NULL; }

/* Go's profiles of mutexes and of blocking have the same types; only the scope distinguishes
 * them. */
static str lock_name(const pyro_source *s, const char *name)
{
    bool either = str_starts(s->type, STR("contentions")) || str_starts(s->type, STR("delay"));
    return either && contains(s->scope, STR("mutex")) ? STR("mutex") : str_of(name);
}

/* A recording of CPU time may have further types: exceptions, locks, allocated objects. */
static bool of_cpu(const pyro_source *s)
{
    return s->period && str_eq(s->period_type, STR("cpu")) && !str_starts(s->type, STR("wall")) &&
           !str_starts(s->type, STR("off_cpu"));
}

static str name_of(const pyro_source *s, const struct row *row)
{
    if (s->name.n) return s->name;
    if (of_cpu(s)) return STR("process_cpu");
    if (str_eq(s->type, STR("samples")) && s->period && str_eq(s->period_type, STR("wall")))
        return STR("wall");
    if (row) return lock_name(s, row->name);
    return s->type.n ? s->type : STR("process_cpu"); /* Pyroscope guesses the same */
}

static void add_period(pyro_type *t, const pyro_source *s, const struct row *row)
{
    if (s->period && s->period_type.n) {
        t->period_type = s->period_type;
        t->period_unit = s->period_unit;
    } else if (row && row->period_type[0]) {
        t->period_type = str_of(row->period_type);
        t->period_unit = str_of(row->period_unit);
    } else {
        t->period_type = s->type;
        t->period_unit = s->unit;
    }
}

/* Samples at an interval of CPU time are that time. */
static bool is_cpu_time(const pyro_source *s)
{
    return !s->has_cpu_time && s->period > 0 && str_eq(s->type, STR("samples")) &&
           str_eq(s->unit, STR("count")) && str_eq(s->period_type, STR("cpu")) &&
           str_eq(s->period_unit, STR("nanoseconds"));
}

static bool without_colons(str *s, arena *a, err *e)
{
    if (!s->n || !memchr(s->p, ':', s->n)) return true;
    char *to = arena_alloc(a, s->n);
    if (!to) return arena_spent(a, e);
    for (size_t i = 0; i < s->n; i++) to[i] = s->p[i] == ':' ? '_' : s->p[i];
    s->p = to;
    return true;
}

bool pyro_type_of(const pyro_source *s, arena *a, pyro_type *out, int64_t *scale, err *e)
{
    const struct row *row = row_of(s->type);
    *out = (pyro_type){.name = name_of(s, row), .type = s->type, .unit = s->unit};
    *scale = 1;
    add_period(out, s, row);
    if (is_cpu_time(s)) {
        out->type = STR("cpu");
        out->unit = STR("nanoseconds");
        *scale = s->period;
    }
    for (size_t i = 0; i < PARTS; i++)
        if (!without_colons(part(out, i), a, e)) return false;
    return true;
}
