/* Selects the profiles of a model by type, id, resource, trace and span. Errors list the types that
 * the model contains. */
#include "query/internal.h"
#include "wire/base64.h"

#include "query/default_type.h"
#include "base/buf.h"
#include "base/ban.h"

static bool is_number(str s, size_t *v)
{
    *v = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9' || ckd_mul(v, *v, 10u) ||
            ckd_add(v, *v, (unsigned)(s.p[i] - '0')))
            return false;
    return s.n > 0;
}

/* Matches "cpu" or "cpu/nanoseconds". "space" also matches "inuse_space", as in pprof. */
static bool type_fits(const model *m, const profile *p, str wanted)
{
    str type = dict_str(&m->dict, p->sample_type.type),
        unit = dict_str(&m->dict, p->sample_type.unit);
    str inuse = STR("inuse_");
    if (str_eq(type, wanted)) return true;
    if (str_starts(wanted, inuse) && str_eq(type, (str){wanted.p + inuse.n, wanted.n - inuse.n}))
        return true;
    return wanted.n == type.n + 1 + unit.n && str_starts(wanted, type) && wanted.p[type.n] == '/' &&
           str_ends(wanted, unit);
}

/* Matches a prefix of an id.  A complete id also matches the ids derived from it, which the
 * other types of the profile have. */
static bool id_fits(const profile *p, str hex)
{
    char id[33];
    uint8_t whole[16];
    if (hex.n == 32 && hex_decode(hex, whole)) return profile_id_leads(p->profile_id, whole);
    hex_encode(p->profile_id, sizeof p->profile_id, id);
    for (size_t i = 0; i < hex.n; i++)
        if (i >= 32 || (hex.p[i] | (hex.p[i] >= 'A' && hex.p[i] <= 'F' ? 0x20 : 0)) != id[i])
            return false;
    return true;
}

/* ---- resources ---- */

static bool value_matches(pattern *p, const any *v, bool *yes, err *e)
{
    char text[32];
    str s = {text, 0};
    *yes = false;
    switch (v->kind) {
    case ANY_STRING: s = any_str(v); break;
    case ANY_BOOL: s = v->i ? STR("true") : STR("false"); break;
    case ANY_INT: s.n = (size_t)snprintf(text, sizeof text, "%lld", (long long)v->i); break;
    case ANY_DOUBLE: s.n = (size_t)snprintf(text, sizeof text, "%.17g", v->d); break;
    default: return true;
    }
    return pattern_match(p, s, yes, e);
}

/* Marks in out_of the resources whose attributes do not match `wish`. */
static bool judge_resources(const model *m, str wish, bool literal, bool *out_of, arena *a, err *e)
{
    const char *equals = wish.n ? memchr(wish.p, '=', wish.n) : NULL;
    if (!equals)
        return err_set(e, ERR_USAGE, "resource: `%.*s` should be KEY=PATTERN", STR_ARG(wish));
    str key = {wish.p, (size_t)(equals - wish.p)};
    str text = {equals + 1, wish.n - key.n - 1};
    pattern *p;
    if (!pattern_new(text, literal, "resource", a, &p, e)) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < m->resources.n; i++) {
        const keyvalues *attrs = &m->resources.v[i].attrs;
        bool found = false;
        for (size_t k = 0; ok && k < attrs->n && !found; k++)
            if (str_eq(attrs->v[k].key, key)) ok = value_matches(p, &attrs->v[k].value, &found, e);
        out_of[i] |= !found;
    }
    pattern_free(p);
    return ok;
}

static uint32_t resource_of(const model *m, const profile *p)
{
    return m->scopes.v[p->scope].resource;
}

/* ---- errors when nothing matches ---- */

static void list_types(const model *m, char *out, size_t room)
{
    size_t n = 0, left = 0;
    out[0] = '\0';
    for (size_t i = 0; i < m->profiles.n; i++) {
        const value_type *t = &m->profiles.v[i].sample_type;
        bool again = false;
        for (size_t k = 0; k < i && k < 64 && !again; k++)
            again = m->profiles.v[k].sample_type.type == t->type &&
                    m->profiles.v[k].sample_type.unit == t->unit;
        if (again) continue;
        str type = dict_str(&m->dict, t->type), unit = dict_str(&m->dict, t->unit);
        char one[96];
        int k =
            snprintf(one, sizeof one, "%s%.*s/%.*s", n ? ", " : "", STR_ARG(type), STR_ARG(unit));
        if (k > 0 && (size_t)k < sizeof one && n + (size_t)k + 16 < room)
            n += (size_t)snprintf(out + n, room - n, "%s", one);
        else
            left++;
        if (left > 64) break;
    }
    if (left) snprintf(out + n, room - n, ", ...");
}

static bool nothing_fits(const model *m, const select_opts *o, err *e)
{
    char types[140];
    if (!m->profiles.n) return err_set(e, ERR_MALFORMED, "the input contains no profile");
    if (o->profile_id.n)
        return err_set(e, ERR_USAGE, "no profile has an id that starts with %.*s",
                       STR_ARG(o->profile_id));
    list_types(m, types, sizeof types);
    if (o->sample_type.n)
        return err_set(e, ERR_USAGE, "no sample type `%.*s`; available: %s",
                       o->sample_type.n > 40 ? 40 : (int)o->sample_type.n, o->sample_type.p, types);
    return err_set(e, ERR_USAGE, "no resource has %.*s", STR_ARG(o->resource[0]));
}

/* ---- choosing ---- */

#define NO_LEAD UINT32_MAX

/* With a trace or span, the default type is chosen among the types that have samples of it. */
static bool mark_without_links(const model *m, const select_opts *o, bool *out, arena *a, err *e)
{
    uint8_t trace[16], span_id[8];
    bool by_trace = o->trace_id.n == 32 && hex_decode(o->trace_id, trace),
         by_span = o->span_id.n == 16 && hex_decode(o->span_id, span_id);
    if (!by_trace && !by_span) return true; /* sample_filter_init reports the mistake */
    bool *fits = arena_new(a, bool, m->dict.links.n + 1),
         *without = arena_new(a, bool, m->profiles.n + 1), found_some = false;
    if (!fits || !without) return err_memory(e);
    for (size_t i = 1; i < m->dict.links.n; i++) {
        const link_ids *l = &m->dict.links.v[i];
        fits[i] = (!by_trace || !memcmp(l->trace_id, trace, 16)) &&
                  (!by_span || !memcmp(l->span_id, span_id, 8));
    }
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        bool found = false;
        for (size_t k = 0; p->link && k < p->n_samples && !found; k++) found = fits[p->link[k]];
        without[i] = !found;
        found_some |= found && !out[i];
    }
    for (size_t i = 0; found_some && i < m->profiles.n; i++) out[i] |= without[i];
    return true;
}

static bool choose_lead(const model *m, const select_opts *o, const bool *out_of, arena *a,
                        uint32_t *lead, err *e)
{
    bool *out = arena_new(a, bool, m->profiles.n + 1);
    if (!out) return err_memory(e);
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        out[i] = out_of[resource_of(m, p)] || !id_fits(p, o->profile_id);
    }
    if (!mark_without_links(m, o, out, a, e)) return false;
    uint32_t found = default_profile(m, out);
    *lead = found < m->profiles.n ? found : NO_LEAD;
    return true;
}

bool select_profiles(const model *m, const select_opts *o, arena *a, u32s *out, err *e)
{
    *out = (u32s){0};
    bool *out_of = arena_new(a, bool, m->resources.n + 1);
    if (!out_of) return err_memory(e);
    for (size_t i = 0; i < o->n_resources; i++)
        if (!judge_resources(m, o->resource[i], o->literal, out_of, a, e)) return false;
    size_t index, n_fit = 0;
    bool by_index = is_number(o->sample_type, &index);
    bool several = o->all || o->n_resources;
    const value_type *type = NULL; /* type of the first match, which all others must have */
    uint32_t lead = NO_LEAD;
    if (!o->sample_type.n && !choose_lead(m, o, out_of, a, &lead, e)) return false;
    if (lead != NO_LEAD) type = &m->profiles.v[lead].sample_type;
    for (uint32_t i = 0; by_index && several && i < m->profiles.n && !type; i++) {
        const profile *p = &m->profiles.v[i];
        if (!out_of[resource_of(m, p)] && id_fits(p, o->profile_id) && n_fit++ == index)
            type = &p->sample_type;
    }
    if (by_index && several && !type) return nothing_fits(m, o, e);
    for (uint32_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (out_of[resource_of(m, p)] || !id_fits(p, o->profile_id)) continue;
        if (!several && lead != NO_LEAD && i != lead) continue;
        if (o->sample_type.n && !by_index && !type_fits(m, p, o->sample_type)) continue;
        if (by_index && !type && n_fit++ != index) continue;
        if (type &&
            !(str_eq(dict_str(&m->dict, type->type), dict_str(&m->dict, p->sample_type.type)) &&
              str_eq(dict_str(&m->dict, type->unit), dict_str(&m->dict, p->sample_type.unit))))
            continue;
        type = &p->sample_type;
        uint32_t *slot = vec_push(a, out);
        if (!slot) return err_memory(e);
        *slot = i;
        if (!several) break;
    }
    return out->n || nothing_fits(m, o, e);
}
