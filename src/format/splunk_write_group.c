/* Which Profiles become one record, in which shape, and what its attributes say. */
#include "format/splunk_write.h"

#include "base/ban.h"

bool splunk_write_spent(splunk_writer *w)
{
    return err_set(w->e, ERR_LIMIT, "no memory for the log records");
}

void splunk_write_lose(splunk_writer *w, loss_concept c, uint64_t n, const char *path, str value)
{
    if (n) ledger_add_n(w->o->ledger, STAGE_WRITE, c, NULL, n, path, value);
}

static bool type_is(const splunk_writer *w, value_type t, const char *type, const char *unit)
{
    return str_eq(dict_str(w->d, t.type), str_of(type)) &&
           str_eq(dict_str(w->d, t.unit), str_of(unit));
}

const attribute *splunk_profile_attr(const splunk_writer *w, const profile *p, const char *key)
{
    const uint32_t *v = refs_at(&w->d->attr_refs, p->attrs);
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (str_eq(dict_str(w->d, w->d->attributes.v[v[i]].key), str_of(key)))
            return &w->d->attributes.v[v[i]];
    return NULL;
}

bool splunk_add_attr(splunk_writer *w, str key, any value)
{
    keyvalue *kv = vec_push(&w->a, &w->attrs);
    if (!kv) return splunk_write_spent(w);
    *kv = (keyvalue){.key = key, .value = value};
    return true;
}

bool splunk_add_str(splunk_writer *w, const char *key, str value)
{
    return splunk_add_attr(w, str_of(key), any_of_str(value));
}

/* ---- groups ---- */

static bool same_list(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    return !n || !memcmp(a, b, n * sizeof *a);
}

static bool same_rows(const model *m, const profile *a, const profile *b)
{
    if (a->n_samples != b->n_samples) return false;
    for (size_t i = 0; i < a->n_samples; i++) {
        sample x = sample_at(m, a, i), y = sample_at(m, b, i);
        if (x.stack != y.stack || x.link != y.link || x.n_attrs != y.n_attrs ||
            x.n_times != y.n_times || !same_list(x.attrs, y.attrs, x.n_attrs) ||
            (x.n_times && memcmp(x.times, y.times, x.n_times * sizeof *x.times)))
            return false;
    }
    return true;
}

static bool same_envelope(const splunk_writer *w, const profile *a, const profile *b)
{
    return a->time_unix_nano == b->time_unix_nano && a->duration_nano == b->duration_nano &&
           a->period == b->period && a->period_type.type == b->period_type.type &&
           a->period_type.unit == b->period_type.unit && a->attrs.n == b->attrs.n &&
           a->dropped_attributes_count == b->dropped_attributes_count &&
           id_is_zero(b->profile_id, 16) && !b->original_payload.n &&
           same_list(refs_at(&w->d->attr_refs, a->attrs), refs_at(&w->d->attr_refs, b->attrs),
                     a->attrs.n);
}

uint32_t splunk_group_size(const splunk_writer *w, const profile *v, uint32_t n)
{
    enum { MOST = 64 };
    uint32_t k = 1;
    for (; k < n && k < MOST; k++) {
        for (uint32_t i = 0; i < k; i++)
            if (v[i].sample_type.type == v[k].sample_type.type &&
                v[i].sample_type.unit == v[k].sample_type.unit)
                return k;
        if (!same_envelope(w, &v[0], &v[k]) || !same_rows(w->m, &v[0], &v[k])) return k;
    }
    return k;
}

/* Every observation counts 1. */
static bool all_ones(const splunk_writer *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (s.n_values && s.n_values != (s.n_times ? s.n_times : 1)) return false;
        for (uint32_t k = 0; k < s.n_values; k++)
            if (s.values[k] != 1) return false;
        if (!sample_observations(&s)) return false;
    }
    return true;
}

/* A value for every time, all of them the same number of milliseconds. */
static bool all_periods(const splunk_writer *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (s.n_values != (s.n_times ? s.n_times : 1)) return false;
        for (uint32_t k = 0; k < s.n_values; k++)
            if (s.values[k] <= 0 || s.values[k] % NS_PER_MS || s.values[k] != s.values[0])
                return false;
    }
    return true;
}

static bool all_observed(const splunk_writer *w, const profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(w->m, p, i);
        if (s.n_values != (s.n_times ? s.n_times : 1)) return false;
    }
    return true;
}

splunk_shape splunk_shape_of(const splunk_writer *w)
{
    const profile *p = w->p;
    if (type_is(w, p->sample_type, "samples", "count") && all_ones(w, p) &&
        (w->n == 1 || (w->n == 2 && type_is(w, p[1].sample_type, "wall", "nanoseconds") &&
                       all_periods(w, &p[1]))))
        return SPLUNK_SHAPE_CPU;
    if (w->n == 1 && type_is(w, p->sample_type, "alloc_space", "bytes") && all_observed(w, p))
        return SPLUNK_SHAPE_ALLOCATION;
    return SPLUNK_SHAPE_TYPED;
}

bool splunk_group_is_allocation(const splunk_writer *w)
{
    str type = dict_str(w->d, w->p->sample_type.type);
    return str_eq(dict_str(w->d, w->p->sample_type.unit), STR("bytes")) ||
           str_starts(type, STR("alloc")) || str_starts(type, STR("inuse"));
}

/* ---- facts of the group ---- */

static bool starts_ours(str key) { return str_starts(key, STR("kiln.splunk.")); }

/* Attributes that are written in another place. */
static bool is_placed(const splunk_writer *w, str key, bool text)
{
    if (str_eq(key, STR(SPLUNK_SOURCETYPE)) || str_eq(key, STR(SPLUNK_PROFILE_ID)) ||
        starts_ours(key))
        return true;
    if (text) return false;
    if (str_starts(key, STR("pprof.profile."))) return true;
    if (w->shape == SPLUNK_SHAPE_TYPED && (str_eq(key, STR(KILN_ATTR_SAMPLE_TYPE_ORDER)) ||
                                           str_eq(key, STR(KILN_ATTR_DEFAULT_SAMPLE_TYPE))))
        return true;
    return str_eq(key, STR(SPLUNK_DATA_FORMAT)) || str_eq(key, STR(SPLUNK_DATA_TYPE)) ||
           str_eq(key, STR(SPLUNK_FRAME_COUNT));
}

bool splunk_add_profile_attrs(splunk_writer *w, bool text)
{
    const uint32_t *v = refs_at(&w->d->attr_refs, w->p->attrs);
    for (uint32_t i = 0; i < w->p->attrs.n; i++) {
        const attribute *at = &w->d->attributes.v[v[i]];
        str key = dict_str(w->d, at->key);
        if (is_placed(w, key, text)) continue;
        if (at->unit) splunk_write_lose(w, LOSS_ATTRIBUTE_UNIT, 1, "profiles.attributes", key);
        if (!splunk_add_attr(w, key, at->value)) return false;
    }
    return true;
}

bool splunk_add_profile_id(splunk_writer *w)
{
    if (id_is_zero(w->p->profile_id, 16)) return true;
    char *hex = arena_alloc(&w->a, 33);
    if (!hex) return splunk_write_spent(w);
    hex_encode(w->p->profile_id, 16, hex);
    ledger_add(w->o->ledger, STAGE_WRITE, LOSS_PROFILE_ID, SPLUNK_PROFILE_ID, "profiles",
               (str){hex, 32});
    return splunk_add_str(w, SPLUNK_PROFILE_ID, (str){hex, 32});
}

uint64_t splunk_profile_int(const splunk_writer *w, const char *key)
{
    const attribute *at = splunk_profile_attr(w, w->p, key);
    return at && at->value.kind == ANY_INT ? (uint64_t)at->value.i : 0;
}

void splunk_set_fields(const splunk_writer *w, splunk_record *r)
{
    const attribute *at = splunk_profile_attr(w, w->p, KILN_ATTR_SPLUNK_RECORD);
    r->dropped = w->p->dropped_attributes_count;
    if (!at || at->value.kind != ANY_KVLIST) return;
    keyvalues kv = {at->value.kvlist, at->value.n};
    r->name = splunk_attr_text(&kv, STR("name"));
    r->severity_text = splunk_attr_text(&kv, STR("severity_text"));
    r->event_name = splunk_attr_text(&kv, STR("event_name"));
    const any *v = splunk_attr(&kv, STR("severity_number"));
    if (v && v->kind == ANY_INT) r->severity_number = (uint64_t)v->i;
    v = splunk_attr(&kv, STR("flags"));
    if (v && v->kind == ANY_INT) r->flags = (uint32_t)v->i;
}

int64_t splunk_group_period_ms(const splunk_writer *w)
{
    bool fits = w->p->period > 0 && w->p->period % NS_PER_MS == 0 &&
                type_is(w, w->p->period_type, "wall", "nanoseconds");
    return fits ? w->p->period / NS_PER_MS : 0;
}

bool splunk_window_is_derived(const splunk_writer *w)
{
    uint64_t min = UINT64_MAX, max = 0;
    for (size_t i = 0; i < w->p->n_samples; i++) {
        sample s = sample_at(w->m, w->p, i);
        for (uint32_t k = 0; k < s.n_times; k++) {
            if (s.times[k] < min) min = s.times[k];
            if (s.times[k] > max) max = s.times[k];
        }
    }
    if (!max) return !w->p->time_unix_nano && !w->p->duration_nano;
    int64_t ms = splunk_group_period_ms(w);
    uint64_t step = ms ? (uint64_t)ms * NS_PER_MS : 1;
    return w->p->time_unix_nano == min && w->p->duration_nano == max - min + step;
}
