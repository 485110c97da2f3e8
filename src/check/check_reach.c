/* Finds the entries that samples, profiles, resources and scopes refer to.  References have one direction
 * (stacks to locations to functions to strings), so one pass per table is enough, in that order. */
#include "check/internal.h"

#include "base/ban.h"

typedef struct marks {
    const dict *d;
    const canon *by;
    reach *r;
} marks;

static void mark(uint8_t *seen, const uint32_t *map, uint32_t i, size_t n)
{
    if (i < n) seen[map ? map[i] : i] = 1;
}

static void mark_all(uint8_t *seen, const uint32_t *map, const uint32_t *v, size_t k, size_t n)
{
    if (map) {
        for (size_t i = 0; i < k; i++) mark(seen, map, v[i], n);
        return;
    }
    for (size_t i = 0; i < k; i++)
        if (LIKELY(v[i] < n)) seen[v[i]] = 1;
}

static void mark_string(marks *k, uint32_t i)
{
    mark(k->r->strings, k->by ? k->by->strings : NULL, i, k->d->strings.n);
}

static void mark_attributes(marks *k, const uint32_t *v, size_t n)
{
    const uint32_t *map = k->by ? k->by->attributes : NULL;
    mark_all(k->r->attributes, map, v, n, k->d->attributes.n);
}

static void mark_value(marks *k, const any *v)
{
    if (v->kind == ANY_STRREF && v->i >= 0 && v->i <= UINT32_MAX) mark_string(k, (uint32_t)v->i);
    for (uint32_t i = 0; v->kind == ANY_ARRAY && i < v->n; i++) mark_value(k, &v->array[i]);
    for (uint32_t i = 0; v->kind == ANY_KVLIST && i < v->n; i++) {
        mark_string(k, v->kvlist[i].key_ref);
        mark_value(k, &v->kvlist[i].value);
    }
}

static void mark_keyvalues(marks *k, const keyvalues *kv)
{
    for (size_t i = 0; i < kv->n; i++) {
        mark_string(k, kv->v[i].key_ref);
        mark_value(k, &kv->v[i].value);
    }
}

static void mark_envelope(marks *k, const model *m)
{
    for (size_t i = 0; i < m->resources.n; i++) mark_keyvalues(k, &m->resources.v[i].attrs);
    for (size_t i = 0; i < m->scopes.n; i++) mark_keyvalues(k, &m->scopes.v[i].attrs);
}

static void mark_profile(marks *k, const model *m, const profile *p)
{
    const dict *d = k->d;
    size_t n_stacks = dict_n_stacks(d);
    const uint32_t *stacks = k->by ? k->by->stacks : NULL, *links = k->by ? k->by->links : NULL;
    mark_string(k, p->sample_type.type), mark_string(k, p->sample_type.unit);
    mark_string(k, p->period_type.type), mark_string(k, p->period_type.unit);
    mark_attributes(k, pool_at(&d->attr_refs, p->attrs.at), p->attrs.n);
    if (!p->n_samples) return;
    mark_all(k->r->stacks, stacks, p->stack, p->n_samples, n_stacks);
    if (p->link) mark_all(k->r->links, links, p->link, p->n_samples, d->links.n);
    /* The lists of a profile's samples are contiguous. */
    span first = spans_at(&p->attr_span, 0), last = spans_at(&p->attr_span, p->n_samples - 1);
    mark_attributes(k, pool_at(&m->sample_attrs, first.at), last.at + last.n - first.at);
}

static void mark_tables(marks *k)
{
    const dict *d = k->d;
    reach *r = k->r;
    const canon none = {0}, *by = k->by ? k->by : &none;
    for (size_t i = 0; i < dict_n_stacks(d); i++) {
        if (!r->stacks[i]) continue;
        span s = dict_stack(d, (uint32_t)i);
        mark_all(r->locations, by->locations, pool_at(&d->frames, s.at), s.n, d->locations.n);
    }
    for (size_t i = 0; i < d->locations.n; i++) {
        if (!r->locations[i]) continue;
        const location *l = &d->locations.v[i];
        mark(r->mappings, by->mappings, l->mapping, d->mappings.n);
        mark_attributes(k, pool_at(&d->attr_refs, l->attrs.at), l->attrs.n);
        for (uint32_t j = 0; j < l->lines.n; j++)
            mark(r->functions, by->functions, d->lines.v[l->lines.at + j].function, d->functions.n);
    }
    for (size_t i = 0; i < d->mappings.n; i++) {
        if (!r->mappings[i]) continue;
        mark_string(k, d->mappings.v[i].filename);
        mark_attributes(k, pool_at(&d->attr_refs, d->mappings.v[i].attrs.at),
                        d->mappings.v[i].attrs.n);
    }
    for (size_t i = 0; i < d->functions.n; i++) {
        if (!r->functions[i]) continue;
        const function *f = &d->functions.v[i];
        mark_string(k, f->name), mark_string(k, f->system_name), mark_string(k, f->filename);
    }
    for (size_t i = 0; i < d->attributes.n; i++) {
        if (!r->attributes[i]) continue;
        const attribute *t = &d->attributes.v[i];
        mark_string(k, t->key), mark_string(k, t->unit);
        mark_value(k, &t->value);
    }
}

static uint8_t *zero_marked(arena *a, size_t n)
{
    uint8_t *v = arena_new(a, uint8_t, n + 1);
    if (v) v[0] = 1;
    return v;
}

bool reach_build(const model *m, const canon *by, arena *a, reach *out)
{
    const dict *d = &m->dict;
    *out = (reach){zero_marked(a, d->strings.n),   zero_marked(a, d->attributes.n),
                   zero_marked(a, d->mappings.n),  zero_marked(a, d->functions.n),
                   zero_marked(a, d->locations.n), zero_marked(a, dict_n_stacks(d)),
                   zero_marked(a, d->links.n)};
    if (!out->strings || !out->attributes || !out->mappings || !out->functions || !out->locations ||
        !out->stacks || !out->links)
        return false;
    marks k = {d, by, out};
    mark_envelope(&k, m);
    for (size_t i = 0; i < m->profiles.n; i++) mark_profile(&k, m, &m->profiles.v[i]);
    mark_tables(&k);
    return true;
}
