/* `kiln info --json`: prints the stable schema of docs/info.md. */
#include "cli/info.h"

#include "wire/anchor.h"
#include "wire/attributes.h"
#include "query/about.h"
#include "wire/json.h"
#include "base/ban.h"

static void put_u64(json_out *o, const char *key, uint64_t v)
{
    json_put_key(o, str_of(key));
    json_put_u64(o, v);
}

static void put_i64(json_out *o, const char *key, int64_t v)
{
    json_put_key(o, str_of(key));
    json_put_i64(o, v);
}

static void put_text(json_out *o, const char *key, str s)
{
    json_put_key(o, str_of(key));
    json_put_str(o, s.n ? s : STR(""));
}

static void put_resource(json_out *o, const model *m, const resource *r)
{
    json_put_object(o);
    json_put_key(o, STR("attributes"));
    attributes_json(o, r->attrs.v, r->attrs.n);
    put_text(o, "schema_url", r->schema_url);
    json_put_key(o, STR("scopes"));
    json_put_array(o);
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        const scope *s = &m->scopes.v[r->first_scope + i];
        json_put_object(o);
        put_text(o, "name", s->name);
        put_text(o, "version", s->version);
        json_put_key(o, STR("attributes"));
        attributes_json(o, s->attrs.v, s->attrs.n);
        put_text(o, "schema_url", s->schema_url);
        json_put_object_end(o);
    }
    json_put_array_end(o);
    json_put_object_end(o);
}

static void put_top(json_out *o, const profile_facts *f)
{
    json_put_key(o, STR("top"));
    if (!f->has_top) {
        json_put_null(o);
        return;
    }
    json_put_object(o);
    put_text(o, "function", f->top_function);
    put_i64(o, "self", f->top_self);
    json_put_object_end(o);
}

static void put_comments(json_out *o, const model *m, const profile *p)
{
    str text;
    json_put_key(o, STR("comments"));
    json_put_array(o);
    for (uint32_t i = 0; profile_comment(m, p, i, &text); i++) text_json(o, text);
    json_put_array_end(o);
}

/* Writes all attributes, including those that carry comments and temporality. */
static void put_attributes(json_out *o, const model *m, const profile *p)
{
    json_put_key(o, STR("attributes"));
    json_put_object(o);
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        const attribute *a = profile_attribute(m, p, i);
        json_put_key(o, dict_str(&m->dict, a->key));
        value_json(o, &a->value);
    }
    json_put_object_end(o);
}

static void put_original(json_out *o, const profile *p)
{
    json_put_key(o, STR("original"));
    if (!p->original_payload.n && !p->original_payload_format.n) {
        json_put_null(o);
        return;
    }
    json_put_object(o);
    put_text(o, "format", p->original_payload_format);
    put_u64(o, "bytes", p->original_payload.n);
    json_put_object_end(o);
}

static void put_profile(json_out *o, const model *m, const profile *p, const profile_facts *f)
{
    const scope *s = &m->scopes.v[p->scope];
    char id[33] = "";
    if (!id_is_zero(p->profile_id, sizeof p->profile_id))
        hex_encode(p->profile_id, sizeof p->profile_id, id);
    json_put_object(o);
    put_u64(o, "resource", s->resource);
    put_u64(o, "scope", p->scope - m->resources.v[s->resource].first_scope);
    put_text(o, "sample_type", dict_str(&m->dict, p->sample_type.type));
    put_text(o, "unit", dict_str(&m->dict, p->sample_type.unit));
    put_u64(o, "samples", f->samples);
    put_u64(o, "observations", f->observations);
    put_i64(o, "total", f->total);
    put_u64(o, "distinct_stacks", f->distinct_stacks);
    put_u64(o, "max_depth", f->max_depth);
    put_u64(o, "timestamps", f->timestamps);
    put_u64(o, "links", f->links);
    put_i64(o, "period", p->period);
    put_text(o, "period_type", dict_str(&m->dict, p->period_type.type));
    put_text(o, "period_unit", dict_str(&m->dict, p->period_type.unit));
    put_u64(o, "time_unix_nano", p->time_unix_nano);
    put_u64(o, "duration_nano", p->duration_nano);
    json_put_key(o, STR("dated"));
    json_put_bool(o, !profile_is_undated(m, p));
    put_text(o, "profile_id", str_of(id));
    put_text(o, "temporality", profile_temporality(m, p));
    put_comments(o, m, p);
    put_attributes(o, m, p);
    put_u64(o, "dropped_attributes", p->dropped_attributes_count);
    put_original(o, p);
    put_top(o, f);
    json_put_object_end(o);
}

static void put_dictionary(json_out *o, const dict *d)
{
    json_put_object(o);
    put_u64(o, "mapping", d->mappings.n);
    put_u64(o, "location", d->locations.n);
    put_u64(o, "function", d->functions.n);
    put_u64(o, "link", d->links.n);
    put_u64(o, "string", d->strings.n);
    put_u64(o, "attribute", d->attributes.n);
    put_u64(o, "stack", dict_n_stacks(d));
    json_put_object_end(o);
}

/* Writes null for formats without layouts. */
static void put_layout(json_out *o, const layout_verdict *v)
{
    json_put_key(o, STR("layout"));
    if (v->layout == LAYOUT_UNKNOWN)
        json_put_null(o);
    else
        json_put_str(o, str_of(layout_name(v->layout)));
    put_text(o, "layout_evidence", str_of(v->evidence));
}

void info_json(json_out *o, const info *f)
{
    const document *d = &f->in->doc;
    const model *m = &d->model;
    json_put_object(o);
    json_put_key(o, STR("path"));
    input_path_json(o, f->in->path);
    put_text(o, "format", str_of(d->format->name));
    put_layout(o, info_verdict(f));
    put_u64(o, "bytes", f->in->file.bytes.n);
    json_put_key(o, STR("profiles"));
    json_put_array(o);
    for (size_t i = 0; i < m->profiles.n; i++) put_profile(o, m, &m->profiles.v[i], &f->facts[i]);
    json_put_array_end(o);
    json_put_key(o, STR("dictionary"));
    put_dictionary(o, &m->dict);
    json_put_key(o, STR("resources"));
    json_put_array(o);
    for (size_t i = 0; i < m->resources.n; i++) put_resource(o, m, &m->resources.v[i]);
    json_put_array_end(o);
    json_put_key(o, STR("losses"));
    ledger_json(o, &f->in->ledger);
    json_put_object_end(o);
}
