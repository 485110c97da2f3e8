/* Views of a checked model.  Indices in the model were validated when it was built; indices from
 * the caller are validated here. */
#include "api/internal.h"

#include "base/ban.h"

size_t kiln_count(const kiln_profiles *p, kiln_table t)
{
    if (!p) return 0;
    const model *m = &p->m;
    switch (t) {
    case KILN_RESOURCES: return m->resources.n;
    case KILN_SCOPES: return m->scopes.n;
    case KILN_PROFILES: return m->profiles.n;
    case KILN_STRINGS: return m->dict.strings.n;
    case KILN_MAPPINGS: return m->dict.mappings.n;
    case KILN_LOCATIONS: return m->dict.locations.n;
    case KILN_FUNCTIONS: return m->dict.functions.n;
    case KILN_LINKS: return m->dict.links.n;
    case KILN_ATTRIBUTES: return m->dict.attributes.n;
    case KILN_STACKS: return dict_n_stacks(&m->dict);
    }
    return 0;
}

static kiln_str string(const dict *d, uint32_t i) { return api_str(d->strings.v[i]); }

const kiln_value *kiln_member_find(const kiln_member *members, size_t n, kiln_str key)
{
    for (size_t i = 0; members && i < n; i++)
        if (str_eq(text(members[i].key), text(key))) return &members[i].value;
    return NULL;
}

/* ---- resources, scopes, profiles ---- */

bool kiln_resource_at(const kiln_profiles *p, size_t i, kiln_resource *out)
{
    if (!p || i >= p->m.resources.n) return false;
    const resource *r = &p->m.resources.v[i];
    kiln_resource v = {
        .attributes = view_members(&r->attrs),
        .n_attributes = r->attrs.n,
        .schema_url = api_str(r->schema_url),
        .first_scope = r->first_scope,
        .n_scopes = r->n_scopes,
        .dropped_attributes = r->dropped_attributes_count,
    };
    return API_GIVE(out, &v);
}

bool kiln_scope_at(const kiln_profiles *p, size_t i, kiln_scope *out)
{
    if (!p || i >= p->m.scopes.n) return false;
    const scope *s = &p->m.scopes.v[i];
    kiln_scope v = {
        .name = api_str(s->name),
        .version = api_str(s->version),
        .schema_url = api_str(s->schema_url),
        .attributes = view_members(&s->attrs),
        .n_attributes = s->attrs.n,
        .resource = s->resource,
        .first_profile = s->first_profile,
        .n_profiles = s->n_profiles,
        .dropped_attributes = s->dropped_attributes_count,
    };
    return API_GIVE(out, &v);
}

bool kiln_profile_at(const kiln_profiles *p, size_t i, kiln_profile *out)
{
    if (!p || i >= p->m.profiles.n) return false;
    const dict *d = &p->m.dict;
    const profile *x = &p->m.profiles.v[i];
    kiln_profile v = {
        .sample_type = string(d, x->sample_type.type),
        .sample_unit = string(d, x->sample_type.unit),
        .period_type = string(d, x->period_type.type),
        .period_unit = string(d, x->period_type.unit),
        .period = x->period,
        .time_unix_nano = x->time_unix_nano,
        .duration_nano = x->duration_nano,
        .attributes = refs_at(&d->attr_refs, x->attrs),
        .n_attributes = x->attrs.n,
        .original_payload_format = api_str(x->original_payload_format),
        .original_payload = api_str(x->original_payload),
        .n_samples = x->n_samples,
        .scope = x->scope,
        .resource = p->m.scopes.v[x->scope].resource,
        .dropped_attributes = x->dropped_attributes_count,
    };
    memcpy(v.id, x->profile_id, sizeof v.id);
    return API_GIVE(out, &v);
}

/* ---- samples ---- */

bool kiln_sample_at(const kiln_profiles *p, size_t profile_i, size_t i, kiln_sample *out)
{
    if (!p || profile_i >= p->m.profiles.n || i >= p->m.profiles.v[profile_i].n_samples)
        return false;
    sample s = sample_at(&p->m, &p->m.profiles.v[profile_i], i);
    kiln_sample v = {
        .size = sizeof v,
        .stack = s.stack,
        .link = s.link,
        .values = s.values,
        .n_values = s.n_values,
        .times = s.times,
        .n_times = s.n_times,
        .attributes = s.attrs,
        .n_attributes = s.n_attrs,
    };
    if (out && LIKELY(out->size == sizeof v)) return *out = v, true;
    return API_GIVE(out, &v);
}

int64_t kiln_sample_total(const kiln_sample *s)
{
    if (!s) return 0;
    if (!s->n_values) return s->n_times > INT64_MAX ? INT64_MAX : (int64_t)s->n_times;
    int64_t total = 0;
    for (size_t i = 0; i < s->n_values; i++) total = add_saturating(total, s->values[i], NULL);
    return total;
}

/* ---- stacks ---- */

const uint32_t *kiln_stack_locations(const kiln_profiles *p, uint32_t stack, size_t *n)
{
    bool there = p && stack < dict_n_stacks(&p->m.dict);
    span s = there ? dict_stack(&p->m.dict, stack) : (span){0};
    if (n) *n = s.n;
    return s.n ? refs_at(&p->m.dict.frames, s) : NULL;
}

void kiln_frames_begin(const kiln_profiles *p, uint32_t stack, kiln_frames *walk)
{
    if (!walk) return;
    *walk = (kiln_frames){.profiles = p};
    if (!p || stack >= dict_n_stacks(&p->m.dict)) return;
    span s = dict_stack(&p->m.dict, stack);
    walk->at = s.at;
    walk->end = s.at + s.n;
}

static void fill_line(const dict *d, const line *l, kiln_frame *v)
{
    const function *f = &d->functions.v[l->function];
    v->function = string(d, f->name);
    v->system_name = string(d, f->system_name);
    v->file = string(d, f->filename);
    v->line = l->line;
    v->column = l->column;
    v->start_line = f->start_line;
}

bool kiln_frames_next(kiln_frames *walk, kiln_frame *out)
{
    if (!walk || walk->at >= walk->end || !out) return false;
    const dict *d = &walk->profiles->m.dict;
    uint32_t i = d->frames.v[walk->at];
    const location *l = &d->locations.v[i];
    kiln_frame v = {
        .size = sizeof v,
        .address = l->address,
        .mapping = l->mapping,
        .mapping_file = string(d, d->mappings.v[l->mapping].filename),
        .location = i,
        .attributes = refs_at(&d->attr_refs, l->attrs),
        .n_attributes = l->attrs.n,
        .inlined = walk->line + 1 < l->lines.n,
    };
    if (l->lines.n) fill_line(d, &d->lines.v[l->lines.at + walk->line], &v);
    walk->line = v.inlined ? walk->line + 1 : 0;
    walk->at += !v.inlined;
    if (LIKELY(out->size == sizeof v)) return *out = v, true;
    return API_GIVE(out, &v);
}

/* ---- the rest of the dictionary ---- */

bool kiln_mapping_at(const kiln_profiles *p, uint32_t i, kiln_mapping *out)
{
    if (!p || i >= p->m.dict.mappings.n) return false;
    const dict *d = &p->m.dict;
    const mapping *m = &d->mappings.v[i];
    kiln_mapping v = {
        .start = m->memory_start,
        .limit = m->memory_limit,
        .offset = m->file_offset,
        .file = string(d, m->filename),
        .attributes = refs_at(&d->attr_refs, m->attrs),
        .n_attributes = m->attrs.n,
    };
    return API_GIVE(out, &v);
}

bool kiln_attribute_at(const kiln_profiles *p, uint32_t i, kiln_attribute *out)
{
    if (!p || i >= p->m.dict.attributes.n) return false;
    const dict *d = &p->m.dict;
    const attribute *a = &d->attributes.v[i];
    kiln_attribute v = {.key = string(d, a->key), .unit = string(d, a->unit)};
    memcpy(&v.value, &a->value, sizeof v.value);
    return API_GIVE(out, &v);
}

bool kiln_attribute_find(const kiln_profiles *p, const uint32_t *indices, size_t n, kiln_str key,
                         kiln_attribute *out)
{
    for (size_t k = 0; p && indices && k < n; k++) {
        if (indices[k] >= p->m.dict.attributes.n) continue;
        const attribute *a = &p->m.dict.attributes.v[indices[k]];
        if (str_eq(p->m.dict.strings.v[a->key], text(key)))
            return kiln_attribute_at(p, indices[k], out);
    }
    return false;
}

bool kiln_link_at(const kiln_profiles *p, uint32_t i, kiln_link *out)
{
    if (!p || !out || !i || i >= p->m.dict.links.n) return false;
    memcpy(out->trace_id, p->m.dict.links.v[i].trace_id, sizeof out->trace_id);
    memcpy(out->span_id, p->m.dict.links.v[i].span_id, sizeof out->span_id);
    return true;
}

kiln_str kiln_string_at(const kiln_profiles *p, uint32_t i)
{
    return p ? api_str(dict_str(&p->m.dict, i)) : (kiln_str){"", 0};
}
