/* Records what is lost when a model becomes lanes of frames. */
#include "format/lanes.h"

#include "base/ban.h"

static bool listed(const lane_key *keys, str key, const any *v)
{
    for (; keys && keys->key; keys++)
        if (str_eq(str_of(keys->key), key))
            return v->kind == keys->kind && (v->kind != ANY_STRING || v->n);
    return false;
}

static void lost(ledger *l, loss_concept c, uint64_t n, const char *path, str value)
{
    ledger_add_n(l, STAGE_WRITE, c, NULL, n, path, value);
}

/* Returns whether an earlier attribute has the same key; only the first one counts. */
static bool again(const dict *d, const uint32_t *attrs, size_t i, str key)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(dict_str(d, d->attributes.v[attrs[k]].key), key)) return true;
    return false;
}

static void list_losses(const dict *d, const uint32_t *attrs, size_t n, const lane_key *carried,
                        const char *path, ledger *l)
{
    for (size_t i = 0; i < n; i++) {
        const attribute *x = &d->attributes.v[attrs[i]];
        str key = dict_str(d, x->key);
        if (!listed(carried, key, &x->value) || again(d, attrs, i, key))
            lost(l, LOSS_ATTRIBUTE, 1, path, key);
        else if (x->unit)
            lost(l, LOSS_ATTRIBUTE_UNIT, 1, path, dict_str(d, x->unit));
    }
}

static void keyvalue_losses(const keyvalues *v, const lane_key *carried, const char *path,
                            ledger *l)
{
    for (size_t i = 0; i < v->n; i++)
        if (!listed(carried, v->v[i].key, &v->v[i].value))
            lost(l, LOSS_RESOURCE, 1, path, v->v[i].key);
}

static void dropped_losses(uint32_t n, const char *path, ledger *l)
{
    if (n) lost(l, LOSS_ATTRIBUTE_SET, 1, path, (str){0});
}

static void profile_losses(const model *m, const profile *p, const lane_carries *c, ledger *l)
{
    const dict *d = &m->dict;
    list_losses(d, refs_at(&d->attr_refs, p->attrs), p->attrs.n, c->profile, "profile", l);
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        list_losses(d, s.attrs, s.n_attrs, c->sample, "samples[].attributes", l);
        if (s.link) lost(l, LOSS_LINK, 1, "samples[].link", (str){0});
        if (s.n_times > sample_observations(&s))
            lost(l, LOSS_TIMESTAMP, 1, "samples[].timestamps", STR("more than there are values"));
    }
    if (p->period || p->period_type.type || p->period_type.unit)
        lost(l, LOSS_PERIOD, 1, "profile.period", dict_str(d, p->period_type.type));
    if (!id_is_zero(p->profile_id, sizeof p->profile_id))
        lost(l, LOSS_PROFILE_ID, 1, "profile.profile_id", (str){0});
    dropped_losses(p->dropped_attributes_count, "profile.dropped_attributes_count", l);
    if (p->original_payload.n || p->original_payload_format.n)
        lost(l, LOSS_ORIGINAL_PAYLOAD, 1, "profile", p->original_payload_format);
}

static void dict_losses(const dict *d, const lane_carries *c, ledger *l)
{
    for (size_t i = 1; i < d->locations.n; i++) {
        const location *x = &d->locations.v[i];
        list_losses(d, refs_at(&d->attr_refs, x->attrs), x->attrs.n, c->location,
                    "location_table[].attributes", l);
        if (x->mapping || (x->address && x->lines.n))
            lost(l, LOSS_MAPPING, 1, "location_table[]",
                 dict_str(d, d->mappings.v[x->mapping].filename));
        if (x->lines.n > 1) lost(l, LOSS_INLINED, 1, "location_table[].lines", (str){0});
    }
    for (size_t i = 1; i < d->functions.n; i++) {
        const function *f = &d->functions.v[i];
        if (dict_str(d, f->system_name).n &&
            !str_eq(dict_str(d, f->system_name), dict_str(d, f->name)))
            lost(l, LOSS_SYSTEM_NAME, 1, "function_table[]", dict_str(d, f->system_name));
        if (f->start_line)
            lost(l, LOSS_SOURCE_LINE, 1, "function_table[].start_line", dict_str(d, f->name));
    }
}

void lanes_losses(const model *m, const lane_carries *c, ledger *l)
{
    if (!l) return;
    for (size_t i = 0; i < m->resources.n; i++) {
        keyvalue_losses(&m->resources.v[i].attrs, c->resource, "resource.attributes", l);
        if (m->resources.v[i].schema_url.n || m->resources.v[i].n_entity_refs)
            lost(l, LOSS_RESOURCE, 1, "resource.schema_url", m->resources.v[i].schema_url);
        dropped_losses(m->resources.v[i].dropped_attributes_count,
                       "resource.dropped_attributes_count", l);
    }
    for (size_t i = 0; i < m->scopes.n; i++) {
        keyvalue_losses(&m->scopes.v[i].attrs, c->scope, "scope.attributes", l);
        if (m->scopes.v[i].schema_url.n)
            lost(l, LOSS_RESOURCE, 1, "scope.schema_url", m->scopes.v[i].schema_url);
        dropped_losses(m->scopes.v[i].dropped_attributes_count, "scope.dropped_attributes_count",
                       l);
    }
    for (size_t i = 0; i < m->profiles.n; i++) profile_losses(m, &m->profiles.v[i], c, l);
    dict_losses(&m->dict, c, l);
}

void lanes_lose_order(const lanes *all, const lane *l, ledger *to)
{
    uint64_t n = 0;
    for (size_t i = l->first + 1; i < l->first + l->n; i++) {
        const lane_item *x = &all->items.v[i];
        n += !x->value && !x[-1].value && x->time == x[-1].time;
    }
    if (n) lost(to, LOSS_EVENT_ORDER, n, "samples[].timestamps", (str){0});
}
