/* Compares models, sums samples and derives profile ids. model_equal builds the path of the first
 * difference only when it finds one. */
#include "model/model.h"

#include "base/err.h"

#include "base/ban.h"

int64_t add_saturating(int64_t a, int64_t b, bool *saturated)
{
    int64_t r;
    if (!ckd_add(&r, a, b)) return r;
    if (saturated) *saturated = true;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t sample_total(const sample *s, bool *saturated)
{
    if (!s->n_values) return s->n_times;
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->n_values; i++) sum = add_saturating(sum, s->values[i], saturated);
    return sum;
}

void hex_encode(const uint8_t *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[p[i] >> 4];
        *out++ = digits[p[i] & 15];
    }
    *out = '\0';
}

/* ---- ids ---- */

/* Returns the constant of k (SplitMix64). Constants of neighbouring k are unrelated, so derived ids
 * do not collide with consecutive ids of a sender. */
static uint64_t scattered(uint64_t k)
{
    uint64_t z = k * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Adds, because with xor the first profile would also appear to be derived from the k-th. */
void profile_id_derive(const uint8_t whole[16], size_t k, uint8_t out[16])
{
    bool none = k == 0 || id_is_zero(whole, 16);
    for (size_t half = 0; half < 2; half++) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8; i++) word = word << 8 | whole[half * 8 + i];
        if (!none) word += scattered(2 * (uint64_t)k + half);
        for (size_t i = 8; i-- > 0; word >>= 8) out[half * 8 + i] = (uint8_t)word;
    }
}

bool profile_id_leads(const uint8_t id[16], const uint8_t whole[16])
{
    uint8_t derived[16];
    for (size_t k = 0; k < PROFILE_ID_TYPES; k++) {
        profile_id_derive(whole, k, derived);
        if (memcmp(id, derived, sizeof derived) == 0) return true;
    }
    return false;
}

/* ---- equality ---- */

static bool keyvalues_equal(const keyvalue *a, const keyvalue *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!str_eq(a[i].key, b[i].key) || a[i].key_ref != b[i].key_ref ||
            !any_equal(&a[i].value, &b[i].value))
            return false;
    return true;
}

bool any_equal(const any *a, const any *b)
{
    if (a->kind != b->kind) return false;
    switch ((any_kind)a->kind) {
    case ANY_EMPTY: return true;
    case ANY_STRING:
    case ANY_BYTES: return str_eq(any_str(a), any_str(b));
    case ANY_BOOL:
    case ANY_INT:
    case ANY_STRREF: return a->i == b->i;
    case ANY_DOUBLE:                                   /* by bits, so that NaN equals itself */
        return memcmp(&a->d, &b->d, sizeof a->d) == 0; /* NOLINT(*-comparison,cert-*) */
    case ANY_ARRAY:
        if (a->n != b->n) return false;
        for (uint32_t i = 0; i < a->n; i++)
            if (!any_equal(&a->array[i], &b->array[i])) return false;
        return true;
    case ANY_KVLIST: return a->n == b->n && keyvalues_equal(a->kvlist, b->kvlist, a->n);
    }
    return false;
}

#define SAME(cond, ...)                                                                            \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            err_set(e, ERR_MISMATCH, "the models differ");                                         \
            return err_in(e, __VA_ARGS__);                                                         \
        }                                                                                          \
    } while (0)

static bool same_refs(const u32s *a, span x, const u32s *b, span y)
{
    return x.n == y.n && (x.n == 0 || memcmp(a->v + x.at, b->v + y.at, x.n * sizeof *a->v) == 0);
}

static bool dict_equal(const dict *a, const dict *b, err *e)
{
    SAME(a->strings.n == b->strings.n, "string_table");
    SAME(a->mappings.n == b->mappings.n, "mapping_table");
    SAME(a->locations.n == b->locations.n, "location_table");
    SAME(a->functions.n == b->functions.n, "function_table");
    SAME(a->links.n == b->links.n, "link_table");
    SAME(a->attributes.n == b->attributes.n, "attribute_table");
    SAME(dict_n_stacks(a) == dict_n_stacks(b), "stack_table");
    for (size_t i = 0; i < a->strings.n; i++)
        SAME(str_eq(a->strings.v[i], b->strings.v[i]), "string_table[%zu]", i);
    for (size_t i = 0; i < a->mappings.n; i++) {
        const mapping *x = &a->mappings.v[i], *y = &b->mappings.v[i];
        SAME(x->memory_start == y->memory_start && x->memory_limit == y->memory_limit &&
                 x->file_offset == y->file_offset && x->filename == y->filename &&
                 same_refs(&a->attr_refs, x->attrs, &b->attr_refs, y->attrs),
             "mapping_table[%zu]", i);
    }
    for (size_t i = 0; i < a->locations.n; i++) {
        const location *x = &a->locations.v[i], *y = &b->locations.v[i];
        SAME(x->address == y->address && x->mapping == y->mapping && x->lines.n == y->lines.n &&
                 same_refs(&a->attr_refs, x->attrs, &b->attr_refs, y->attrs),
             "location_table[%zu]", i);
        for (uint32_t k = 0; k < x->lines.n; k++) {
            const line *l = &a->lines.v[x->lines.at + k], *m = &b->lines.v[y->lines.at + k];
            SAME(l->function == m->function && l->line == m->line && l->column == m->column,
                 "location_table[%zu].lines[%u]", i, k);
        }
    }
    for (size_t i = 0; i < a->functions.n; i++) {
        const function *x = &a->functions.v[i], *y = &b->functions.v[i];
        SAME(x->name == y->name && x->system_name == y->system_name && x->filename == y->filename &&
                 x->start_line == y->start_line,
             "function_table[%zu]", i);
    }
    for (size_t i = 0; i < a->links.n; i++)
        SAME(memcmp(&a->links.v[i], &b->links.v[i], sizeof(link_ids)) == 0, "link_table[%zu]", i);
    for (size_t i = 0; i < a->attributes.n; i++) {
        const attribute *x = &a->attributes.v[i], *y = &b->attributes.v[i];
        SAME(x->key == y->key && x->unit == y->unit && any_equal(&x->value, &y->value),
             "attribute_table[%zu]", i);
    }
    for (uint32_t i = 0; i < dict_n_stacks(a); i++)
        SAME(same_refs(&a->frames, dict_stack(a, i), &b->frames, dict_stack(b, i)),
             "stack_table[%u]", i);
    return true;
}

static bool same_strs(const str *a, size_t n, const str *b, size_t m)
{
    if (n != m) return false;
    for (size_t i = 0; i < n; i++)
        if (!str_eq(a[i], b[i])) return false;
    return true;
}

static bool entity_refs_equal(const resource *a, const resource *b)
{
    if (a->n_entity_refs != b->n_entity_refs) return false;
    for (size_t i = 0; i < a->n_entity_refs; i++) {
        const entity_ref *x = &a->entity_refs[i], *y = &b->entity_refs[i];
        if (!str_eq(x->schema_url, y->schema_url) || !str_eq(x->type, y->type) ||
            !same_strs(x->id_keys, x->n_id_keys, y->id_keys, y->n_id_keys) ||
            !same_strs(x->description_keys, x->n_description_keys, y->description_keys,
                       y->n_description_keys))
            return false;
    }
    return true;
}

bool resource_equal(const resource *a, const resource *b)
{
    return a->present == b->present && a->attrs.n == b->attrs.n &&
           a->dropped_attributes_count == b->dropped_attributes_count &&
           str_eq(a->schema_url, b->schema_url) && entity_refs_equal(a, b) &&
           keyvalues_equal(a->attrs.v, b->attrs.v, a->attrs.n);
}

bool scope_equal(const scope *a, const scope *b)
{
    return a->present == b->present && str_eq(a->name, b->name) && str_eq(a->version, b->version) &&
           str_eq(a->schema_url, b->schema_url) && a->attrs.n == b->attrs.n &&
           a->dropped_attributes_count == b->dropped_attributes_count &&
           keyvalues_equal(a->attrs.v, b->attrs.v, a->attrs.n);
}

static bool samples_equal(const model *a, const profile *p, const model *b, const profile *q,
                          err *e)
{
    SAME(p->n_samples == q->n_samples, "samples");
    for (size_t i = 0; i < p->n_samples; i++) {
        sample x = sample_at(a, p, i), y = sample_at(b, q, i);
        SAME(x.stack == y.stack, "samples[%zu].stack_index", i);
        SAME(x.link == y.link, "samples[%zu].link_index", i);
        SAME(x.n_attrs == y.n_attrs &&
                 (!x.n_attrs || !memcmp(x.attrs, y.attrs, x.n_attrs * sizeof *x.attrs)),
             "samples[%zu].attribute_indices", i);
        SAME(x.n_values == y.n_values &&
                 (!x.n_values || !memcmp(x.values, y.values, x.n_values * sizeof *x.values)),
             "samples[%zu].values", i);
        SAME(x.n_times == y.n_times &&
                 (!x.n_times || !memcmp(x.times, y.times, x.n_times * sizeof *x.times)),
             "samples[%zu].timestamps_unix_nano", i);
    }
    return true;
}

static bool profile_equal(const model *a, const profile *p, const model *b, const profile *q,
                          err *e)
{
    SAME(p->sample_type.type == q->sample_type.type && p->sample_type.unit == q->sample_type.unit,
         "sample_type");
    SAME(p->period_type.type == q->period_type.type && p->period_type.unit == q->period_type.unit,
         "period_type");
    SAME(p->period == q->period, "period");
    SAME(p->time_unix_nano == q->time_unix_nano, "time_unix_nano");
    SAME(p->duration_nano == q->duration_nano, "duration_nano");
    SAME(memcmp(p->profile_id, q->profile_id, sizeof p->profile_id) == 0, "profile_id");
    SAME(p->dropped_attributes_count == q->dropped_attributes_count, "dropped_attributes_count");
    SAME(str_eq(p->original_payload_format, q->original_payload_format), "original_payload_format");
    SAME(str_eq(p->original_payload, q->original_payload), "original_payload");
    SAME(same_refs(&a->dict.attr_refs, p->attrs, &b->dict.attr_refs, q->attrs),
         "attribute_indices");
    return samples_equal(a, p, b, q, e);
}

bool model_equal(const model *a, const model *b, err *e)
{
    if (!dict_equal(&a->dict, &b->dict, e)) return err_in(e, "dictionary");
    SAME(a->resources.n == b->resources.n, "resource_profiles");
    SAME(a->scopes.n == b->scopes.n, "scope_profiles");
    SAME(a->profiles.n == b->profiles.n, "profiles");
    for (size_t i = 0; i < a->resources.n; i++) {
        SAME(resource_equal(&a->resources.v[i], &b->resources.v[i]), "resource_profiles[%zu]", i);
        SAME(a->resources.v[i].n_scopes == b->resources.v[i].n_scopes,
             "resource_profiles[%zu].scope_profiles", i);
    }
    for (size_t i = 0; i < a->scopes.n; i++) {
        SAME(scope_equal(&a->scopes.v[i], &b->scopes.v[i]), "scope_profiles[%zu]", i);
        SAME(a->scopes.v[i].n_profiles == b->scopes.v[i].n_profiles, "scope_profiles[%zu].profiles",
             i);
    }
    for (size_t i = 0; i < a->profiles.n; i++)
        if (!profile_equal(a, &a->profiles.v[i], b, &b->profiles.v[i], e))
            return err_in(e, "profiles[%zu]", i);
    return true;
}

bool profile_is_level(const model *m, const profile *p)
{
    return str_starts(dict_str(&m->dict, p->sample_type.type), STR("inuse_"));
}
