/* tests/support/random_model.h - random checked models of every shape, from a seed.
 *
 * The builder is not used: like real input, tables contain duplicates and unused entries. */
#pragma once
#include "base/hash.h"
#include "model/model.h"

#include <stdlib.h>

typedef struct rng {
    uint64_t s;
} rng;

static inline uint64_t rnd(rng *r) { return r->s = hash_mix(r->s, 0x5851f42d4c957f2d); }
static inline uint32_t below(rng *r, size_t n) { return n ? (uint32_t)(rnd(r) % n) : 0; }
static inline bool one_in(rng *r, uint32_t n) { return below(r, n) == 0; }

/* Returns a number of any width from 0 to 64 bits, so that varints of every length occur. */
static inline uint64_t rnd_wide(rng *r)
{
    unsigned bits = below(r, 65);
    return bits ? rnd(r) >> (64 - bits) : 0;
}

/* KILN_SEED repeats a run; otherwise the seed is fixed.  It is printed in both cases. */
static inline uint64_t rnd_seed(uint64_t otherwise)
{
    const char *s = getenv("KILN_SEED");
    return s ? strtoull(s, NULL, 0) : otherwise;
}

typedef struct random_opts {
    bool zero_first;    /* entry 0 of every table is the zero value, as the P rules require */
    bool plain_doubles; /* no NaN, because JSON has only one */
    uint32_t max_samples;
} random_opts;

static inline void *rm_array(arena *a, size_t n, size_t size)
{
    void *p = arena_array_zero(a, n, size);
    if (!p) abort();
    return p;
}

static inline str rm_string(rng *r, arena *a)
{
    static const char *const pieces[] = {
        "a",  "main", "libc.so.6", "/usr/bin/", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x94\xa5",
        "\n", "\"",   "\x7f",      "x.y"};
    size_t n = below(r, 6), at = 0;
    if (one_in(r, 40)) n = 60 + below(r, 200); /* lengths of two bytes */
    char *p = rm_array(a, n * 12 + 1, 1);
    for (size_t i = 0; i < n; i++) {
        const char *s = pieces[below(r, ARRAY_LEN(pieces))];
        memcpy(p + at, s, strlen(s));
        at += strlen(s);
    }
    return (str){p, at};
}

static inline any rm_any(rng *r, arena *a, const random_opts *o, unsigned depth);

static inline keyvalues rm_keyvalues(rng *r, arena *a, const random_opts *o, unsigned depth)
{
    keyvalues kv = {.n = one_in(r, 3) ? 0 : below(r, 4)};
    kv.v = rm_array(a, kv.n, sizeof *kv.v);
    for (size_t i = 0; i < kv.n; i++) {
        kv.v[i].key = rm_string(r, a);
        kv.v[i].value = rm_any(r, a, o, depth);
    }
    return kv;
}

static inline any rm_any(rng *r, arena *a, const random_opts *o, unsigned depth)
{
    any v = {.kind = below(r, ANY_STRREF)};
    if (depth > 4 && (v.kind == ANY_ARRAY || v.kind == ANY_KVLIST)) v.kind = ANY_EMPTY;
    uint64_t bits;
    str s;
    keyvalues kv;
    switch ((any_kind)v.kind) {
    case ANY_STRING:
    case ANY_BYTES:
        s = rm_string(r, a);
        v.s = s.p;
        v.n = (uint32_t)s.n;
        break;
    case ANY_BOOL: v.i = one_in(r, 2); break;
    case ANY_INT: v.i = (int64_t)rnd_wide(r); break;
    case ANY_DOUBLE:
        bits = rnd(r);
        memcpy(&v.d, &bits, sizeof v.d);
        if (one_in(r, 4)) v.d = 0.0;
        if (o->plain_doubles && v.d != v.d) v.d = 0.1;
        break;
    case ANY_ARRAY:
        v.n = below(r, 4);
        v.array = rm_array(a, v.n, sizeof *v.array);
        for (uint32_t i = 0; i < v.n; i++) v.array[i] = rm_any(r, a, o, depth + 1);
        break;
    case ANY_KVLIST:
        kv = rm_keyvalues(r, a, o, depth + 1);
        v.kvlist = kv.v;
        v.n = (uint32_t)kv.n;
        break;
    default: break;
    }
    return v;
}

/* Mostly small tables; sometimes one entry, sometimes enough for indices of two bytes. */
static inline size_t rm_count(rng *r)
{
    return one_in(r, 6) ? 1 : one_in(r, 12) ? 100 + below(r, 300) : 1 + below(r, 12);
}

static inline span rm_refs(rng *r, arena *a, u32s *pool, size_t n_table)
{
    span s = {(uint32_t)pool->n, one_in(r, 2) ? 0 : below(r, 4)};
    for (uint32_t i = 0; i < s.n; i++) *vec_push(a, pool) = below(r, n_table);
    return s;
}

#define RM_TABLE(table)                                                                            \
    ((table).v = rm_array(a, (table).n = (table).cap = rm_count(r), sizeof *(table).v))

static inline void rm_dict(rng *r, arena *a, const random_opts *o, dict *d)
{
    RM_TABLE(d->strings);
    RM_TABLE(d->mappings);
    RM_TABLE(d->locations);
    RM_TABLE(d->functions);
    RM_TABLE(d->links);
    RM_TABLE(d->attributes);
    size_t first = o->zero_first ? 1 : 0, n_strings = d->strings.n;
    d->strings.v[0] = (str){"", 0};
    for (size_t i = first; i < n_strings; i++) d->strings.v[i] = rm_string(r, a);
    for (size_t i = first; i < d->attributes.n; i++)
        d->attributes.v[i] = (attribute){
            below(r, n_strings), one_in(r, 2) ? 0 : below(r, n_strings), rm_any(r, a, o, 0)};
    for (size_t i = first; i < d->mappings.n; i++)
        d->mappings.v[i] = (mapping){rnd_wide(r), rnd_wide(r), rnd_wide(r), below(r, n_strings),
                                     rm_refs(r, a, &d->attr_refs, d->attributes.n)};
    for (size_t i = first; i < d->functions.n; i++)
        d->functions.v[i] = (function){(int64_t)rnd_wide(r), below(r, n_strings),
                                       below(r, n_strings), below(r, n_strings)};
    for (size_t i = first; i < d->links.n; i++) {
        uint8_t *p = (uint8_t *)&d->links.v[i];
        for (size_t k = 0; k < sizeof(link_ids); k++) p[k] = (uint8_t)rnd(r);
        if (one_in(r, 4)) memset(d->links.v[i].span_id, 0, 8);
        if (one_in(r, 4)) memset(d->links.v[i].trace_id, 0, 16);
    }
    for (size_t i = first; i < d->locations.n; i++) {
        location *l = &d->locations.v[i];
        *l = (location){rnd_wide(r),
                        below(r, d->mappings.n),
                        {(uint32_t)d->lines.n, below(r, 4)},
                        rm_refs(r, a, &d->attr_refs, d->attributes.n)};
        for (uint32_t k = 0; k < l->lines.n; k++)
            *vec_push(a, &d->lines) =
                (line){(int64_t)rnd_wide(r), one_in(r, 2) ? 0 : (int64_t)rnd_wide(r),
                       below(r, d->functions.n)};
    }
    size_t n_stacks = rm_count(r);
    *vec_push(a, &d->stacks) = 0;
    for (size_t i = 0; i < n_stacks; i++) {
        size_t n = i < first ? 0 : one_in(r, 10) ? 70 + below(r, 400) : below(r, 20);
        for (size_t k = 0; k < n; k++) *vec_push(a, &d->frames) = below(r, d->locations.n);
        *vec_push(a, &d->stacks) = (uint32_t)d->frames.n;
    }
}

/* Creates a list column: all samples have the same length, or different lengths. */
static inline spans rm_column(rng *r, arena *a, size_t n, size_t at)
{
    static const uint32_t strides[] = {0, 0, 1, 1, 2, 3, 17};
    spans s = {.base = (uint32_t)at, .stride = strides[below(r, ARRAY_LEN(strides))]};
    if (!one_in(r, 3)) return s;
    uint32_t *off = rm_array(a, n + 1, sizeof *off);
    off[0] = (uint32_t)at;
    uint32_t usual = below(r, 3), odd = 1 + below(r, 5);
    for (size_t i = 0; i < n; i++) off[i + 1] = off[i] + (one_in(r, odd) ? below(r, 9) : usual);
    s.off = off;
    return s;
}

static inline size_t rm_column_n(const spans *s, size_t n)
{
    return s->off ? s->off[n] - s->off[0] : n * s->stride;
}

static inline void rm_profile(rng *r, arena *a, const random_opts *o, model *m, profile *p)
{
    dict *d = &m->dict;
    size_t n_strings = d->strings.n;
    p->sample_type = (value_type){below(r, n_strings), below(r, n_strings)};
    if (one_in(r, 2)) p->period_type = (value_type){below(r, n_strings), below(r, n_strings)};
    if (one_in(r, 2)) p->period = (int64_t)rnd_wide(r);
    if (one_in(r, 2)) p->time_unix_nano = rnd_wide(r);
    if (one_in(r, 2)) p->duration_nano = rnd_wide(r);
    if (one_in(r, 2))
        for (size_t i = 0; i < 16; i++) p->profile_id[i] = (uint8_t)rnd(r);
    if (one_in(r, 4)) p->dropped_attributes_count = (uint32_t)rnd_wide(r);
    if (one_in(r, 4)) p->original_payload_format = rm_string(r, a);
    if (one_in(r, 4)) p->original_payload = rm_string(r, a);
    p->attrs = rm_refs(r, a, &d->attr_refs, d->attributes.n);

    size_t n = p->n_samples = one_in(r, 5) ? 0 : below(r, o->max_samples);
    uint32_t *stack = rm_array(a, n, sizeof *stack), *link = NULL;
    for (size_t i = 0; i < n; i++) stack[i] = below(r, dict_n_stacks(d));
    if (one_in(r, 3)) {
        link = rm_array(a, n, sizeof *link);
        uint32_t rare = 1 + below(r, 10);
        for (size_t i = 0; i < n; i++) link[i] = one_in(r, rare) ? below(r, d->links.n) : 0;
    }
    p->stack = stack;
    p->link = link;
    p->attr_span = rm_column(r, a, n, m->sample_attrs.n);
    p->value_span = rm_column(r, a, n, m->values.n);
    p->time_span = rm_column(r, a, n, m->times.n);
    bool small = one_in(r, 2);
    for (size_t k = rm_column_n(&p->attr_span, n); k-- > 0;)
        *vec_push(a, &m->sample_attrs) = below(r, d->attributes.n);
    for (size_t k = rm_column_n(&p->value_span, n); k-- > 0;)
        *vec_push(a, &m->values) = small ? (int64_t)below(r, 1000) - 100 : (int64_t)rnd_wide(r);
    for (size_t k = rm_column_n(&p->time_span, n); k-- > 0;) *vec_push(a, &m->times) = rnd_wide(r);
}

static inline void rm_resource(rng *r, arena *a, const random_opts *o, resource *res)
{
    res->present = !one_in(r, 4);
    if (one_in(r, 3)) res->schema_url = rm_string(r, a);
    if (!res->present) return;
    res->attrs = rm_keyvalues(r, a, o, 0);
    if (one_in(r, 4)) res->dropped_attributes_count = (uint32_t)rnd_wide(r);
    res->n_entity_refs = one_in(r, 3) ? 1 + below(r, 2) : 0;
    res->entity_refs = rm_array(a, res->n_entity_refs, sizeof *res->entity_refs);
    for (size_t i = 0; i < res->n_entity_refs; i++) {
        entity_ref *e = &res->entity_refs[i];
        *e = (entity_ref){.schema_url = rm_string(r, a), .type = rm_string(r, a)};
        e->id_keys = rm_array(a, e->n_id_keys = below(r, 3), sizeof(str));
        e->description_keys = rm_array(a, e->n_description_keys = below(r, 3), sizeof(str));
        for (size_t k = 0; k < e->n_id_keys; k++) e->id_keys[k] = rm_string(r, a);
        for (size_t k = 0; k < e->n_description_keys; k++) e->description_keys[k] = rm_string(r, a);
    }
}

static inline model random_model(rng *r, arena *a, const random_opts *o)
{
    model m = {.checked = true};
    rm_dict(r, a, o, &m.dict);
    size_t n_resources = one_in(r, 12) ? 0 : 1 + below(r, 3);
    for (size_t i = 0; i < n_resources; i++) {
        resource *res = vec_push(a, &m.resources);
        rm_resource(r, a, o, res);
        res->first_scope = (uint32_t)m.scopes.n;
        res->n_scopes = below(r, 4);
        for (uint32_t s = 0; s < res->n_scopes; s++) {
            scope *sc = vec_push(a, &m.scopes);
            sc->resource = (uint32_t)i;
            sc->present = !one_in(r, 4);
            if (one_in(r, 3)) sc->schema_url = rm_string(r, a);
            if (sc->present) {
                sc->name = rm_string(r, a);
                sc->version = rm_string(r, a);
                sc->attrs = rm_keyvalues(r, a, o, 0);
                if (one_in(r, 4)) sc->dropped_attributes_count = (uint32_t)rnd_wide(r);
            }
            sc->first_profile = (uint32_t)m.profiles.n;
            sc->n_profiles = below(r, 4);
            for (uint32_t k = 0; k < sc->n_profiles; k++) {
                profile p = {.scope = (uint32_t)m.scopes.n - 1};
                rm_profile(r, a, o, &m, &p);
                *vec_push(a, &m.profiles) = p;
            }
        }
    }
    return m;
}
