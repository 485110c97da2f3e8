/* Decides which Profiles become one record, in which form, and with which attributes. */
#include "format/splunk_write.h"

#include "base/hash.h"
#include "base/ban.h"
#include <stdlib.h>

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
    if (!kv) return err_memory(w->e);
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

/* A Profile: a hash of the properties that its group shares, its index in the scope, and its
 * group. */
typedef struct grouped {
    uint64_t key;
    uint32_t at, leader; /* leader: the first of its group; NO_LEADER: unknown so far */
} grouped;

enum { MOST_TYPES = 64, MOST_LOOKED_AT = 256 };
#define NO_LEADER UINT32_MAX

static uint64_t key_of(const splunk_writer *w, const profile *p)
{
    uint64_t h = hash_mix(w->m->seed, p->time_unix_nano);
    h = hash_mix(h, p->duration_nano);
    h = hash_mix(h, p->n_samples);
    if (!p->n_samples) return h;
    sample s = sample_at(w->m, p, 0);
    return hash_mix(hash_mix(h, s.stack), s.n_times ? s.times[0] : 0);
}

static int by_key(const void *a, const void *b)
{
    const grouped *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_group(const void *a, const void *b)
{
    const grouped *x = a, *y = b;
    if (x->leader != y->leader) return x->leader < y->leader ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool joins(const splunk_writer *w, const profile *v, const uint32_t *member, uint32_t n,
                  const profile *p)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[member[i]].sample_type.type == p->sample_type.type &&
            v[member[i]].sample_type.unit == p->sample_type.unit)
            return false;
    return same_envelope(w, &v[member[0]], p) && same_rows(w->m, &v[member[0]], p);
}

/* at[0..n) have equal keys. Puts every entry that matches at[0] into the group of at[0]. */
static void assign_leader(const splunk_writer *w, const profile *v, grouped *at, size_t n)
{
    uint32_t member[MOST_TYPES] = {at->at}, k = 1;
    at->leader = at->at;
    for (size_t i = 1; i < n && i < MOST_LOOKED_AT && k < MOST_TYPES; i++) {
        if (at[i].leader != NO_LEADER || !joins(w, v, member, k, &v[at[i].at])) continue;
        at[i].leader = at->at;
        member[k++] = at[i].at;
    }
}

bool splunk_groups_of(splunk_writer *w, const scope *s, splunk_groups *out)
{
    const profile *v = s->n_profiles ? w->m->profiles.v + s->first_profile : NULL;
    uint32_t n = s->n_profiles;
    arena_reset(&w->order);
    grouped *at = arena_new(&w->order, grouped, n);
    *out = (splunk_groups){.p = arena_new(&w->order, profile, n),
                           .size = arena_new(&w->order, uint32_t, n)};
    if (n && (!at || !out->p || !out->size)) return err_memory(w->e);
    for (uint32_t i = 0; i < n; i++) at[i] = (grouped){key_of(w, &v[i]), i, NO_LEADER};
    if (n) qsort(at, n, sizeof *at, by_key);
    for (uint32_t i = 0, end = 0; i < n; i++) {
        while (end < n && at[end].key == at[i].key) end++;
        if (at[i].leader == NO_LEADER) assign_leader(w, v, &at[i], end - i);
    }
    if (n) qsort(at, n, sizeof *at, by_group);
    for (uint32_t i = 0; i < n; i++) {
        out->p[i] = v[at[i].at];
        if (!i || at[i].leader != at[i - 1].leader) out->size[out->n++] = 0;
        out->size[out->n - 1]++;
    }
    return true;
}

/* Returns whether every observation has the value 1. */
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

/* Returns whether every timestamp has a value, and the values of a sample are equal and a whole
 * number of milliseconds. */
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

/* ---- properties of the group ---- */

static bool is_own_key(str key) { return str_starts(key, STR("kiln.splunk.")); }

/* Returns whether an attribute is written in another way. */
static bool is_placed(const splunk_writer *w, str key, bool text)
{
    if (str_eq(key, STR(SPLUNK_SOURCETYPE)) || str_eq(key, STR(SPLUNK_PROFILE_ID)) ||
        is_own_key(key))
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
    if (!hex) return err_memory(w->e);
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
