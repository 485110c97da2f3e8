/* Fills in values from the command line that an input does not record.  Values of the input are
 * never replaced. */
#include "cli/supply.h"
#include "base/time.h"
#include "base/text.h"

#include "base/ban.h"

/* ---- the command line ---- */

static bool id_parse(str s, uint8_t out[16])
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '-') continue; /* accept UUIDs */
        int v = hex_digit(c);
        if (v < 0 || n == 32) return false;
        out[n / 2] = (uint8_t)(out[n / 2] << 4 | v);
        n++;
    }
    return n == 32 && !id_is_zero(out, 16);
}

static bool give_time(const char *name, const char *text, uint64_t *ns, err *e)
{
    if (!text || time_parse(str_of(text), ns)) return true;
    return err_set(e, ERR_USAGE,
                   "--%s must be a time such as 2023-06-27T04:52:00Z or 1687841520, not `%s`", name,
                   text);
}

bool supply_parse(const cli_options *o, supply *out, err *e)
{
    supply s = {.schema_url = str_of(o->schema_url)};
    s.any =
        o->profile_id || o->start || o->end || o->schema_url || o->sample_type || o->time_anchor;
    s.has_id = o->profile_id != NULL;
    if (s.has_id && !id_parse(str_of(o->profile_id), s.profile_id))
        return err_set(e, ERR_USAGE, "--profile-id must be 32 hex digits, and not all 0: `%s`",
                       o->profile_id);
    if (!give_time("start", o->start, &s.start, e) || !give_time("end", o->end, &s.end, e) ||
        !give_time("time-anchor", o->time_anchor, &s.time_anchor, e))
        return false;
    if (s.start && s.end && s.end < s.start)
        return err_set(e, ERR_USAGE, "--end is before --start");
    if (o->sample_type) {
        size_t n = strcspn(o->sample_type, "/");
        s.type = (str){o->sample_type, n};
        s.unit = str_of(o->sample_type[n] ? o->sample_type + n + 1 : "");
        if (!s.type.n)
            return err_set(e, ERR_USAGE,
                           "--sample-type must be TYPE/UNIT, such as cpu/nanoseconds");
    }
    *out = s;
    return true;
}

/* ---- models ---- */

static uint32_t add_string(dict *d, str s)
{
    for (size_t i = 0; i < d->strings.n; i++)
        if (str_eq(d->strings.v[i], s)) return (uint32_t)i;
    d->strings.v[d->strings.n] = s;
    return (uint32_t)d->strings.n++;
}

/* Sets the missing types.  Copies the string table before it grows, because it may be outside the
 * arena. */
static bool give_types(supply *s, model *m, arena *a)
{
    dict *d = &m->dict;
    bool missing = false;
    for (size_t i = 0; i < m->profiles.n; i++)
        missing |= !m->profiles.v[i].sample_type.type && !m->profiles.v[i].sample_type.unit;
    if (!missing) return true;
    str *v = arena_new(a, str, d->strings.n + 3);
    if (!v) return false;
    v[0] = (str){"", 0};
    if (d->strings.n)
        memcpy(v, d->strings.v, d->strings.n * sizeof *v);
    else
        d->strings.n = 1;
    d->strings.v = v;
    d->strings.cap = d->strings.n + 2;
    value_type t = {add_string(d, s->type), add_string(d, s->unit)};
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        if (!p->sample_type.type && !p->sample_type.unit) p->sample_type = t, s->used_type = true;
    }
    return true;
}

static void give_window(supply *s, profile *p)
{
    if (s->start && !p->time_unix_nano) p->time_unix_nano = s->start, s->used_window = true;
    if (s->end && !p->duration_nano && p->time_unix_nano && s->end >= p->time_unix_nano)
        p->duration_nano = s->end - p->time_unix_nano, s->used_window = true;
}

static bool has_type(const supply *s, const model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        value_type t = m->profiles.v[i].sample_type;
        if (str_eq(dict_str(&m->dict, t.type), s->type) &&
            str_eq(dict_str(&m->dict, t.unit), s->unit))
            return true;
    }
    return false;
}

bool supply_model(supply *s, model *m, arena *a, err *e)
{
    for (size_t i = 0; i < m->profiles.n; i++) give_window(s, &m->profiles.v[i]);
    for (size_t i = 0; s->schema_url.n && i < m->resources.n; i++)
        if (!m->resources.v[i].schema_url.n)
            m->resources.v[i].schema_url = s->schema_url, s->used_schema = true;
    if (!s->type.n) return true;
    s->used_type |= has_type(s, m); /* the reader used it */
    return give_types(s, m, a) || err_memory(e);
}

void supply_ids(const supply *s, model *m)
{
    uint8_t id[16];
    memcpy(id, s->profile_id, sizeof id);
    for (size_t i = 0; s->has_id && i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        if (!id_is_zero(p->profile_id, sizeof p->profile_id)) continue;
        memcpy(p->profile_id, id, sizeof id);
        for (size_t k = sizeof id; k-- > 0 && !++id[k];) {}
    }
}
