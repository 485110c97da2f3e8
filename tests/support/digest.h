/* tests/support/digest.h - a digest of the contents of a model, independent of the numbers of its
 * tables: each profile and each {stack, set of attributes, link} as a hash of its content, with its
 * totals. Written plainly and independently of the code under test. */
#pragma once
#include "base/hash.h"
#include "model/model.h"

#include <stdlib.h>

static inline uint64_t digest_str(uint64_t h, str s)
{
    return hash_bytes(s.p, s.n, hash_mix(h, s.n));
}

static inline uint64_t digest_any(uint64_t h, const any *v)
{
    h = hash_mix(h, v->kind + 100);
    switch ((any_kind)v->kind) {
    case ANY_STRING:
    case ANY_BYTES: return digest_str(h, any_str(v));
    case ANY_EMPTY: return h;
    case ANY_ARRAY:
        for (uint32_t i = 0; i < v->n; i++) h = digest_any(h, &v->array[i]);
        return hash_mix(h, v->n);
    case ANY_KVLIST:
        for (uint32_t i = 0; i < v->n; i++)
            h = digest_any(digest_str(h, v->kvlist[i].key), &v->kvlist[i].value);
        return hash_mix(h, v->n);
    default: return hash_mix(h, (uint64_t)v->i); /* a double by its bits */
    }
}

static inline uint64_t digest_attribute(const dict *d, uint32_t i)
{
    const attribute *t = &d->attributes.v[i];
    return digest_any(digest_str(digest_str(1, d->strings.v[t->key]), d->strings.v[t->unit]),
                      &t->value);
}

static inline int digest_order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Hashes a set of attributes: order and repeats do not matter; the zero attribute does not
 * count. */
static inline uint64_t digest_attr_set(const dict *d, const uint32_t *v, size_t n)
{
    static const attribute zero;
    uint64_t *all = malloc((n + 1) * sizeof *all), h = 2;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const attribute *t = &d->attributes.v[v[i]];
        if (d->strings.v[t->key].n || d->strings.v[t->unit].n || t->value.kind != zero.value.kind)
            all[k++] = digest_attribute(d, v[i]);
    }
    qsort(all, k, sizeof *all, digest_order);
    for (size_t i = 0; i < k; i++)
        if (i == 0 || all[i] != all[i - 1]) h = hash_mix(h, all[i]);
    free(all);
    return h;
}

static inline uint64_t digest_attr_list(const dict *d, span s, uint64_t h)
{
    for (uint32_t i = 0; i < s.n; i++)
        h = hash_mix(h, digest_attribute(d, d->attr_refs.v[s.at + i]));
    return hash_mix(h, s.n);
}

static inline uint64_t digest_location(const dict *d, uint32_t i)
{
    const location *l = &d->locations.v[i];
    const mapping *m = &d->mappings.v[l->mapping];
    uint64_t h = hash_mix(hash_mix(hash_mix(3, m->memory_start), m->memory_limit), m->file_offset);
    h = digest_attr_list(d, m->attrs, digest_str(h, d->strings.v[m->filename]));
    h = digest_attr_list(d, l->attrs, hash_mix(h, l->address));
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &d->lines.v[l->lines.at + k];
        const function *f = &d->functions.v[n->function];
        h = hash_mix(hash_mix(h, (uint64_t)n->line), (uint64_t)n->column);
        h = digest_str(digest_str(h, d->strings.v[f->name]), d->strings.v[f->system_name]);
        h = hash_mix(digest_str(h, d->strings.v[f->filename]), (uint64_t)f->start_line);
    }
    return hash_mix(h, l->lines.n);
}

static inline uint64_t digest_stack(const dict *d, uint32_t i)
{
    span s = dict_stack(d, i);
    uint64_t h = 4;
    for (uint32_t k = 0; k < s.n; k++) h = hash_mix(h, digest_location(d, d->frames.v[s.at + k]));
    return hash_mix(h, s.n);
}

static inline uint64_t digest_keyvalues(const keyvalues *kv, uint64_t h)
{
    any list = {.kind = ANY_KVLIST, .n = (uint32_t)kv->n, .kvlist = kv->v};
    return digest_any(h, &list);
}

/* Hashes the properties that profiles must share to be joined: resource, scope, types, period,
 * attributes. */
static inline uint64_t digest_envelope(const model *m, const profile *p)
{
    const scope *s = &m->scopes.v[p->scope];
    const resource *r = &m->resources.v[s->resource];
    const dict *d = &m->dict;
    uint64_t h = digest_str(digest_keyvalues(&r->attrs, 5), r->schema_url);
    h = digest_keyvalues(&s->attrs, digest_str(digest_str(h, s->name), s->version));
    h = digest_str(h, s->schema_url);
    h = digest_str(digest_str(h, d->strings.v[p->sample_type.type]),
                   d->strings.v[p->sample_type.unit]);
    h = digest_str(digest_str(h, d->strings.v[p->period_type.type]),
                   d->strings.v[p->period_type.unit]);
    h = hash_mix(h, (uint64_t)p->period);
    return hash_mix(
        h, digest_attr_set(d, p->attrs.n ? d->attr_refs.v + p->attrs.at : NULL, p->attrs.n));
}

typedef struct digest_row {
    uint64_t profile, identity; /* its profile, and {stack, set of attributes, link} */
    int64_t total;              /* wraps, as a checksum */
    uint64_t observations;      /* sum of hashes of (time, value); order does not matter */
} digest_row;

typedef struct digest_rows {
    digest_row *v;
    size_t n;
} digest_rows;

static inline int digest_row_order(const void *a, const void *b)
{
    const digest_row *x = a, *y = b;
    if (x->profile != y->profile) return x->profile < y->profile ? -1 : 1;
    return x->identity < y->identity ? -1 : x->identity > y->identity;
}

/* Returns the rows of all samples, sorted, one row per profile and identity. With by_number, a
 * profile is identified by its position in the model instead of its content. The caller frees v. */
static inline digest_rows digest_model(const model *m, bool by_number)
{
    digest_rows out = {0};
    size_t n = 0, k = 0;
    for (size_t i = 0; i < m->profiles.n; i++) n += m->profiles.v[i].n_samples;
    out.v = malloc((n + 1) * sizeof *out.v);
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        uint64_t of = by_number ? i : digest_envelope(m, p);
        for (size_t j = 0; j < p->n_samples; j++) {
            sample s = sample_at(m, p, j);
            digest_row row = {.profile = of, .identity = digest_stack(&m->dict, s.stack)};
            row.identity = hash_mix(row.identity, digest_attr_set(&m->dict, s.attrs, s.n_attrs));
            row.identity = hash_bytes(&m->dict.links.v[s.link], sizeof(link_ids), row.identity);
            for (uint32_t q = 0; q < s.n_values; q++)
                row.total = (int64_t)((uint64_t)row.total + (uint64_t)s.values[q]);
            if (!s.n_values) row.total = s.n_times;
            for (uint32_t q = 0; q < s.n_times; q++)
                row.observations +=
                    hash_mix(s.times[q], q < s.n_values ? (uint64_t)s.values[q] : 1);
            out.v[k++] = row;
        }
    }
    qsort(out.v, k, sizeof *out.v, digest_row_order);
    for (size_t i = 0; i < k; i++) {
        digest_row *last = out.n ? &out.v[out.n - 1] : NULL;
        if (last && digest_row_order(last, &out.v[i]) == 0) {
            last->total = (int64_t)((uint64_t)last->total + (uint64_t)out.v[i].total);
            last->observations += out.v[i].observations;
        } else {
            out.v[out.n++] = out.v[i];
        }
    }
    return out;
}

/* ---- all contents of a model, in order ---- */

static inline uint64_t digest_profile(const model *m, const profile *p)
{
    const dict *d = &m->dict;
    uint64_t h = hash_mix(hash_mix(7, p->time_unix_nano), p->duration_nano);
    h = hash_bytes(p->profile_id, 16, hash_mix(h, p->dropped_attributes_count));
    h = digest_str(digest_str(h, p->original_payload), p->original_payload_format);
    h = hash_mix(digest_str(digest_str(h, dict_str(d, p->period_type.type)),
                            dict_str(d, p->period_type.unit)),
                 (uint64_t)p->period);
    h = digest_str(digest_str(h, dict_str(d, p->sample_type.type)),
                   dict_str(d, p->sample_type.unit));
    h = digest_attr_list(d, p->attrs, h);
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        h = hash_mix(h, digest_stack(d, s.stack));
        h = hash_bytes(&d->links.v[s.link], sizeof(link_ids), h);
        for (uint32_t k = 0; k < s.n_attrs; k++) h = hash_mix(h, digest_attribute(d, s.attrs[k]));
        for (uint32_t k = 0; k < s.n_values; k++) h = hash_mix(h, (uint64_t)s.values[k] + 1);
        for (uint32_t k = 0; k < s.n_times; k++) h = hash_mix(h, s.times[k] + 2);
        h = hash_mix(h, (uint64_t)s.n_attrs << 40 | (uint64_t)s.n_values << 20 | s.n_times);
    }
    return hash_mix(h, p->n_samples);
}

static inline uint64_t digest_entity(uint64_t h, const entity_ref *e)
{
    h = digest_str(digest_str(hash_mix(h, e->n_id_keys), e->schema_url), e->type);
    for (size_t i = 0; i < e->n_id_keys; i++) h = digest_str(h, e->id_keys[i]);
    for (size_t i = 0; i < e->n_description_keys; i++) h = digest_str(h, e->description_keys[i]);
    return h;
}

static inline uint64_t digest_all(const model *m)
{
    uint64_t h = 8;
    for (size_t i = 0; i < m->resources.n; i++) {
        const resource *r = &m->resources.v[i];
        h = digest_str(digest_keyvalues(&r->attrs, hash_mix(h, r->n_scopes)), r->schema_url);
        h = hash_mix(h, (uint64_t)r->dropped_attributes_count << 1 | r->present);
        for (size_t k = 0; k < r->n_entity_refs; k++) h = digest_entity(h, &r->entity_refs[k]);
    }
    for (size_t i = 0; i < m->scopes.n; i++) {
        const scope *s = &m->scopes.v[i];
        h = digest_str(digest_keyvalues(&s->attrs, hash_mix(h, s->n_profiles)), s->schema_url);
        h = digest_str(digest_str(h, s->name), s->version);
        h = hash_mix(h, (uint64_t)s->dropped_attributes_count << 1 | s->present);
    }
    for (size_t i = 0; i < m->profiles.n; i++)
        h = hash_mix(h, digest_profile(m, &m->profiles.v[i]));
    return h;
}
