/* tests/support/told.h - "unequal exactly by what the ledger says".
 *
 * A model as a hash of what it says, without what a ledger names as lost, and without the attributes that it names as
 * the carriers of something.  Two models are as the ledger tells if these are equal: an entry excuses a difference
 * of its own concept and no other.  Written plainly and apart from the code it judges. */
#pragma once
#include "digest.h"

#include "model/ledger.h"

#include <stdio.h>
#include <string.h>

#define TOLD_ARG(s) (int)((s).n < 20 ? (s).n : 20), (s).p

typedef struct told {
    const ledger *l;
    const model *base; /* what has no id or no name of its payload here may get one */
} told;

static inline bool told_lost(const told *t, loss_concept c)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == c && !t->l->v[i].carried_as) return true;
    return false;
}

/* Samples without a time got one. */
static inline bool told_new_times(const told *t)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_SAMPLE_SHAPE && strstr(t->l->v[i].value, "take the time"))
            return true;
    return false;
}

/* Rounded is what the path names. */
static inline bool told_rounded(const told *t, const char *what)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_ROUNDED && strstr(t->l->v[i].path, what)) return true;
    return false;
}

/* An entry keeps the key of its first example: what a scope carries in one place a profile may carry in another. */
static inline bool told_carrier(const told *t, str key)
{
    for (size_t i = 0; i < t->l->n; i++) {
        const loss *l = &t->l->v[i];
        if (!l->carried_as) continue;
        if (str_eq(str_of(l->carried_as), key)) return true;
        if (l->concept == LOSS_SAMPLE_TYPE_ORDER && str_ends(key, STR(".sample_type_order")))
            return true;
        if (l->concept == LOSS_DEFAULT_SAMPLE_TYPE && str_ends(key, STR(".default_sample_type")))
            return true;
        if (l->concept == LOSS_ARBITRARY_ID) /* an id that was made up */
            if (str_eq(key, STR("thread.id")) || str_eq(key, STR("process.pid"))) return true;
        if (l->concept == LOSS_ATTRIBUTE && str_eq(str_of(l->carried_as), STR("kiln.profile.name")))
            if (str_eq(key, STR("thread.id")) || str_eq(key, STR("thread.name"))) return true;
    }
    return str_eq(key, STR("kiln.event.args")) && told_lost(t, LOSS_EVENT_DETAIL);
}

/* Profiles without observations are left out. */
static inline bool told_left_out(const told *t, const model *m, const profile *p)
{
    bool said = false;
    for (size_t i = 0; i < t->l->n; i++)
    said |= t->l->v[i].concept == LOSS_METADATA && !strcmp(t->l->v[i].path, "profiles[]");
    for (size_t i = 0; said && i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        if (sample_observations(&s)) return false;
    }
    return said;
}

/* An address is the name of a frame that has no other. */
static inline bool told_address_names(const told *t)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_NAME && t->l->v[i].carried_as) return true;
    return false;
}

/* Attributes of resources are comments or labels now. */
static inline bool told_resources_moved(const told *t)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_RESOURCE && t->l->v[i].carried_as) return true;
    return false;
}

/* A label of a sample that was an attribute of a resource. */
static inline bool told_resource_label(const told *t, str key)
{
    if (!told_lost(t, LOSS_RESOURCE) && !told_carrier(t, STR("label"))) return false;
    for (size_t i = 0; i < t->base->resources.n; i++) {
        const keyvalues *kv = &t->base->resources.v[i].attrs;
        for (size_t k = 0; k < kv->n; k++)
            if (str_eq(kv->v[k].key, key)) return true;
    }
    return false;
}

static inline uint64_t told_attr(const told *t, str key, str unit, const any *v)
{
    bool units = !told_lost(t, LOSS_ATTRIBUTE_UNIT);
    if (!key.n && !(units && unit.n) && v->kind == ANY_EMPTY) return 0; /* says nothing */
    uint64_t h = digest_any(digest_str(2, key), v);
    return units ? digest_str(h, unit) : h;
}

/* An element of a list of attributes that had one key: a value, or {str or num, unit}. */
static inline uint64_t told_element(const told *t, str key, str unit, const any *v)
{
    const any *value = v;
    for (uint32_t i = 0; v->kind == ANY_KVLIST && i < v->n; i++) {
        bool is_unit = str_eq(v->kvlist[i].key, STR("unit"));
        if (is_unit) unit = any_str(&v->kvlist[i].value);
        if (!is_unit) value = &v->kvlist[i].value;
    }
    return told_attr(t, key, unit, value);
}

/* The attributes of one list: a set, but each as often as it is there. */
static inline uint64_t told_attrs(const told *t, const dict *d, const uint32_t *v, size_t n)
{
    uint64_t h = 2;
    if (told_lost(t, LOSS_ATTRIBUTE) || told_lost(t, LOSS_ATTRIBUTE_TYPE)) return h;
    bool lists = !told_lost(t, LOSS_ATTRIBUTE_SET); /* otherwise one may be several of one key */
    for (size_t i = 0; i < n; i++) {
        const attribute *a = &d->attributes.v[v[i]];
        str key = dict_str(d, a->key), unit = dict_str(d, a->unit);
        if (told_carrier(t, key) || told_resource_label(t, key)) continue;
        if (lists || a->value.kind != ANY_ARRAY) h += told_attr(t, key, unit, &a->value);
        for (uint32_t k = 0; !lists && a->value.kind == ANY_ARRAY && k < a->value.n; k++)
            h += told_element(t, key, unit, &a->value.array[k]);
    }
    return h;
}

static inline uint64_t told_span(const told *t, const dict *d, span s)
{
    return told_attrs(t, d, refs_at(&d->attr_refs, s), s.n);
}

/* The name of a function, or what took its place. */
static inline uint64_t told_name(const told *t, const dict *d, const location *l, const function *f,
                                 uint64_t h)
{
    char address[24];
    str name = f ? dict_str(d, f->name) : (str){0},
        system = f ? dict_str(d, f->system_name) : (str){0};
    bool mangled = system.n && !told_lost(t, LOSS_SYSTEM_NAME) && !str_eq(name, system);
    if (!name.n && !mangled) name = system;
    if (!name.n && (!f || l->address) && told_address_names(t))
        name = (str){address, (size_t)snprintf(address, sizeof address, "0x%llx",
                                               (unsigned long long)l->address)};
    if (!told_lost(t, LOSS_NAME)) h = digest_str(h, name);
    return mangled ? digest_str(h, system) : h;
}

static inline uint64_t told_line(const told *t, const dict *d, const location *l, const line *n,
                                 uint64_t h)
{
    const function *f = n ? &d->functions.v[n->function] : NULL;
    h = told_name(t, d, l, f, h);
    if (told_lost(t, LOSS_SOURCE_LINE)) return h;
    h = hash_mix(hash_mix(h, n ? (uint64_t)n->line : 0), n ? (uint64_t)n->column : 0);
    return hash_mix(digest_str(h, f ? dict_str(d, f->filename) : (str){0}),
                    f ? (uint64_t)f->start_line : 0);
}

/* A location without its lines. */
static inline uint64_t told_place(const told *t, const dict *d, const location *l)
{
    const mapping *m = &d->mappings.v[l->mapping];
    uint64_t h = 3;
    if (!told_lost(t, LOSS_MAPPING)) {
        h = hash_mix(hash_mix(hash_mix(h, m->memory_start), m->memory_limit), m->file_offset);
        h = hash_mix(digest_str(h, dict_str(d, m->filename)),
                     told_address_names(t) ? 0 : l->address);
        if (!told_lost(t, LOSS_BUILD_ID) && !told_lost(t, LOSS_BUILD_ID_KIND))
            h = hash_mix(h, told_span(t, d, m->attrs));
    }
    return told_lost(t, LOSS_FRAME_TYPE) ? h : hash_mix(h, told_span(t, d, l->attrs));
}

/* A frame for each line, where calls that were inlined became frames. */
static inline uint64_t told_location(const told *t, const dict *d, uint32_t i, uint64_t h)
{
    const location *l = &d->locations.v[i];
    bool apart = told_lost(t, LOSS_INLINED);
    uint64_t place = told_place(t, d, l);
    uint32_t n = l->lines.n;
    if (!apart) h = hash_mix(h, place);
    for (uint32_t k = 0; k < l->lines.n; k++)
        h = told_line(t, d, l, &d->lines.v[l->lines.at + k], apart ? hash_mix(h, place) : h);
    if (!l->lines.n && told_address_names(t))
        h = told_line(t, d, l, NULL, apart ? hash_mix(h, place) : h), n = 1;
    return apart ? h : hash_mix(h, n);
}

/* {stack, attributes, link} of a sample. */
static inline uint64_t told_identity(const told *t, const model *m, const sample *s)
{
    const dict *d = &m->dict;
    span f = dict_stack(d, s->stack);
    uint64_t h = told_attrs(t, d, s->attrs, s->n_attrs);
    if (!told_lost(t, LOSS_LINK)) h = hash_bytes(&d->links.v[s->link], sizeof(link_ids), h);
    if (told_lost(t, LOSS_STACK_DEPTH)) return h;
    for (uint32_t k = 0; k < f.n; k++) h = told_location(t, d, d->frames.v[f.at + k], h);
    return told_lost(t, LOSS_INLINED) ? h : hash_mix(h, f.n);
}

/* The time of an observation, which may be the sample's attribute `timestamp`; *has: it has one. */
static inline uint64_t told_time(const told *t, const dict *d, const sample *s, uint32_t k,
                                 bool *has)
{
    *has = k < s->n_times;
    if (*has) return s->times[k];
    for (uint32_t i = 0; i < s->n_attrs && told_carrier(t, STR("timestamp")); i++) {
        const attribute *a = &d->attributes.v[s->attrs[i]];
        if (!str_eq(dict_str(d, a->key), STR("timestamp")) || a->value.kind != ANY_INT) continue;
        *has = true;
        return (uint64_t)a->value.i;
    }
    return 0;
}

/* Samples are the same one by one.  Without the order of events, those without length may nest otherwise. */
static inline bool told_shapes(const told *t)
{
    for (size_t i = 0; i < t->l->n; i++) /* carried, by a sample for each observation */
        if (t->l->v[i].concept == LOSS_SAMPLE_SHAPE) return false;
    return !told_lost(t, LOSS_OBSERVATIONS) && !told_lost(t, LOSS_NESTING) &&
           !told_lost(t, LOSS_EVENT_ORDER) && !told_lost(t, LOSS_MIXED_SHAPE);
}

/* Samples in their order and shape; where the shape changed, the sum of each identity and of each time. */
static inline uint64_t told_samples(const told *t, const model *m, const profile *p)
{
    uint64_t h = 5, sum = 0;
    bool times = !told_lost(t, LOSS_TIMESTAMP) && !told_lost(t, LOSS_NESTING) &&
                 !told_rounded(t, "timestamps") && !told_new_times(t);
    if (told_lost(t, LOSS_VALUE) || told_lost(t, LOSS_VALUE_SATURATED) ||
        told_lost(t, LOSS_VALUE_SCALE))
        return 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        uint64_t id = told_identity(t, m, &s);
        h = hash_mix(hash_mix(h, id), s.n_values);
        for (uint32_t k = 0; k < s.n_values; k++) h = hash_mix(h, (uint64_t)s.values[k]);
        for (uint32_t k = 0, n = s.n_times ? s.n_times : 1; times && k < n; k++) {
            bool has;
            uint64_t time = told_time(t, &m->dict, &s, k, &has);
            if (has) h = hash_mix(h, time);
        }
        for (uint32_t k = 0; k < sample_observations(&s); k++) {
            bool has;
            uint64_t time = times ? told_time(t, &m->dict, &s, k, &has) : 0;
            sum += hash_mix(id, time) * (k < s.n_values ? (uint64_t)s.values[k] : 1);
        }
    }
    return told_shapes(t) ? hash_mix(h, p->n_samples) : sum;
}

/* Every profile has an id, or a name for its payload. */
static inline bool told_all_have(const model *m, bool payloads)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (payloads ? p->original_payload.n && !p->original_payload_format.n
                     : id_is_zero(p->profile_id, 16))
            return false;
    }
    return true;
}

/* The payloads there are, in their order: one that came for several profiles is the first one's. */
static inline uint64_t told_payloads(const told *t, const model *m)
{
    uint64_t h = 6;
    bool formats = told_all_have(t->base, true);
    for (size_t i = 0; i < m->profiles.n && !told_lost(t, LOSS_ORIGINAL_PAYLOAD); i++) {
        const profile *p = &m->profiles.v[i];
        if (p->original_payload.n) h = digest_str(h, p->original_payload);
        if (formats && p->original_payload_format.n) h = digest_str(h, p->original_payload_format);
    }
    return h;
}

static inline uint64_t told_type(const told *t, const dict *d, const profile *p)
{
    if (told_lost(t, LOSS_VALUE_TYPE)) return 7;
    return digest_str(digest_str(7, dict_str(d, p->sample_type.type)),
                      dict_str(d, p->sample_type.unit));
}

/* All of a profile but its type, samples and payload. */
static inline uint64_t told_head(const told *t, const model *m, size_t i)
{
    const profile *p = &m->profiles.v[i];
    const dict *d = &m->dict;
    uint64_t h = 7;
    bool had_id = told_all_have(t->base, false);
    if (had_id && !told_lost(t, LOSS_PROFILE_ID)) h = hash_bytes(p->profile_id, 16, h);
    /* A window may be made of the times that were rounded. */
    if (!told_lost(t, LOSS_TIME) && !told_rounded(t, "timestamps"))
        h = hash_mix(hash_mix(h, p->time_unix_nano), p->duration_nano);
    if (!told_lost(t, LOSS_PERIOD))
        h = hash_mix(digest_str(digest_str(h, dict_str(d, p->period_type.type)),
                                dict_str(d, p->period_type.unit)),
                     (uint64_t)p->period);
    if (!told_lost(t, LOSS_ATTRIBUTE_SET)) h = hash_mix(h, p->dropped_attributes_count);
    return hash_mix(h, told_span(t, d, p->attrs));
}

static inline uint64_t told_class(const told *t, const model *m, size_t i)
{
    return hash_mix(told_head(t, m, i), told_type(t, &m->dict, &m->profiles.v[i]));
}

static inline uint64_t told_profile(const told *t, const model *m, size_t i)
{
    return hash_mix(told_class(t, m, i), told_samples(t, m, &m->profiles.v[i]));
}

static inline uint64_t told_keyvalues(const told *t, const keyvalues *kv, uint64_t h)
{
    for (size_t i = 0; i < kv->n; i++)
        if (!told_carrier(t, kv->v[i].key))
            h = digest_any(digest_str(h, kv->v[i].key), &kv->v[i].value);
    return h;
}

static inline uint64_t told_resource(const told *t, const resource *r)
{
    bool entities = r->n_entity_refs && !told_lost(t, LOSS_ENTITY_REF);
    uint64_t h = digest_str(hash_mix(8, r->n_scopes), r->schema_url), none = h,
             dropped = told_lost(t, LOSS_ATTRIBUTE_SET) ? 0 : r->dropped_attributes_count;
    if (!told_resources_moved(t)) h = told_keyvalues(t, &r->attrs, h);
    for (size_t k = 0; k < r->n_entity_refs && entities; k++)
        h = digest_entity(h, &r->entity_refs[k]);
    return h == none && !dropped && !r->schema_url.n ? 0 : hash_mix(h, dropped);
}

static inline uint64_t told_scope(const told *t, const model *m, const scope *s)
{
    uint64_t h = digest_str(digest_str(digest_str(8, s->name), s->version), s->schema_url),
             none = h, dropped = told_lost(t, LOSS_ATTRIBUTE_SET) ? 0 : s->dropped_attributes_count;
    bool named = s->name.n || s->version.n || s->schema_url.n || dropped;
    size_t n = told_lost(t, LOSS_MIXED_SHAPE) ? 0 : s->n_profiles;
    for (size_t i = 0, all = n; i < all; i++)
        n -= told_left_out(t, m, &m->profiles.v[s->first_profile + i]);
    h = told_keyvalues(t, &s->attrs, h);
    if (h == none && !named && !n) return 0;
    return hash_mix(hash_mix(h, dropped), told_shapes(t) ? n : 0);
}

/* Resources and scopes that say anything, and whose profiles are whose. */
static inline uint64_t told_envelope(const told *t, const model *m)
{
    uint64_t h = 8, one;
    for (size_t i = 0; i < m->resources.n; i++)
        if ((one = told_resource(t, &m->resources.v[i]))) h = hash_mix(h, one);
    for (size_t i = 0; i < m->scopes.n; i++)
        if ((one = told_scope(t, m, &m->scopes.v[i]))) h = hash_mix(h, one);
    return h;
}

/* Profiles that became types of one: the sum of each type and identity, under one head. */
static inline uint64_t told_joined(const told *t, const model *m)
{
    uint64_t h = 10, sums = 0, types = 0, heads = 0, before = 0;
    bool ordered = !told_lost(t, LOSS_SAMPLE_TYPE_ORDER);
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (told_left_out(t, m, p)) continue;
        uint64_t type = told_type(t, &m->dict, p) | 1, head = told_head(t, m, i);
        bool new_type = true, new_head = true;
        sums += type * told_samples(t, m, p);
        for (size_t k = 0; k < i; k++) {
            if (told_left_out(t, m, &m->profiles.v[k])) continue;
            new_type &= (told_type(t, &m->dict, &m->profiles.v[k]) | 1) != type;
            new_head &= told_head(t, m, k) != head;
        }
        if (new_type) types += type;
        if (new_head) heads += head;
        if (ordered && (h == 10 || head != before)) h = hash_mix(h, head);
        before = head;
    }
    return hash_mix(hash_mix(hash_mix(h, sums), types), heads);
}

/* Profiles of any order and shape: the classes there are, and the sum of each. */
static inline uint64_t told_classes(const told *t, const model *m)
{
    uint64_t sums = 0, classes = 0;
    for (size_t i = 0; i < m->profiles.n; i++) {
        if (told_left_out(t, m, &m->profiles.v[i])) continue;
        uint64_t class = told_class(t, m, i) | 1;
        bool fresh = true;
        for (size_t k = 0; k < i; k++)
            fresh &= (told_class(t, m, k) | 1) != class || told_left_out(t, m, &m->profiles.v[k]);
        if (fresh) classes += class;
        sums += class * told_samples(t, m, &m->profiles.v[i]);
    }
    return hash_mix(sums, classes);
}

static inline uint64_t told_digest(const told *t, const model *m)
{
    uint64_t h = told_lost(t, LOSS_RESOURCE) ? 9 : told_envelope(t, m), all = 0;
    h = hash_mix(h, told_payloads(t, m));
    if (told_lost(t, LOSS_MIXED_SHAPE)) return hash_mix(h, told_joined(t, m));
    bool ordered = !told_lost(t, LOSS_SAMPLE_TYPE_ORDER);
    size_t n = 0;
    if (told_shapes(t)) {
        for (size_t i = 0; i < m->profiles.n; i++) {
            if (told_left_out(t, m, &m->profiles.v[i])) continue;
            uint64_t one = told_profile(t, m, i);
            all = ordered ? hash_mix(all, one) : all + one;
            n++;
        }
        return hash_mix(hash_mix(h, all), n);
    }
    if (!ordered) return hash_mix(h, told_classes(t, m));
    /* A profile of two shapes may come back as two: their sums are added. */
    for (size_t i = 0, k; i < m->profiles.n; i = k) {
        uint64_t head = told_class(t, m, i), sum = 0;
        for (k = i; k < m->profiles.n; k++) {
            if (told_left_out(t, m, &m->profiles.v[k])) continue;
            if (told_class(t, m, k) != head) break;
            sum += told_samples(t, m, &m->profiles.v[k]);
        }
        if (told_left_out(t, m, &m->profiles.v[i])) {
            k = i + 1;
            continue;
        }
        all = hash_mix(all, hash_mix(head, sum));
    }
    return hash_mix(h, all);
}

/* Says which sample is the first that differs, and in what. */
static inline void told_explain_sample(const told *t, const model *m, const model *back,
                                       const profile *p, const profile *q)
{
    for (size_t i = 0; i < p->n_samples && i < q->n_samples; i++) {
        sample s = sample_at(m, p, i), u = sample_at(back, q, i);
        const link_ids *x = &m->dict.links.v[s.link], *y = &back->dict.links.v[u.link];
        bool link = !memcmp(x, y, sizeof *x),
             attrs = told_attrs(t, &m->dict, s.attrs, s.n_attrs) ==
                     told_attrs(t, &back->dict, u.attrs, u.n_attrs),
             id = told_identity(t, m, &s) == told_identity(t, back, &u),
             values = s.n_values == u.n_values &&
                      (!s.n_values || !memcmp(s.values, u.values, s.n_values * sizeof *s.values));
        if (link && attrs && id && values) continue;
        fprintf(stderr, "#   sample %zu:%s%s%s%s, %u frames; back %u\n", i, link ? "" : " link",
                attrs ? "" : " attributes", id || !attrs || !link ? "" : " stack",
                values ? "" : " values", dict_stack(&m->dict, s.stack).n,
                dict_stack(&back->dict, u.stack).n);
        return;
    }
}

/* Says where two models differ, and what the ledger has. */
static inline void told_explain(const told *t, const model *m, const model *back)
{
    if (told_envelope(t, m) != told_envelope(t, back)) fprintf(stderr, "# envelopes differ\n");
    fprintf(stderr, "# %zu profiles, %zu came back\n", m->profiles.n, back->profiles.n);
    for (size_t i = 0, k = 0; i < m->profiles.n && k < back->profiles.n; i++, k++) {
        while (i + 1 < m->profiles.n && told_left_out(t, m, &m->profiles.v[i])) i++;
        while (k + 1 < back->profiles.n && told_left_out(t, back, &back->profiles.v[k])) k++;
        const profile *p = &m->profiles.v[i], *q = &back->profiles.v[k];
        if (told_profile(t, m, i) == told_profile(t, back, k)) continue;
        bool samples = told_samples(t, m, p) != told_samples(t, back, q),
             attrs = told_span(t, &m->dict, p->attrs) != told_span(t, &back->dict, q->attrs);
        str a = dict_str(&m->dict, p->sample_type.type),
            b = dict_str(&back->dict, q->sample_type.type),
            u = dict_str(&m->dict, p->sample_type.unit),
            v = dict_str(&back->dict, q->sample_type.unit);
        fprintf(stderr, "# profile %zu:%s%s %.*s/%.*s, %zu samples; back %.*s/%.*s, %zu\n", i,
                samples ? " samples" : "", attrs ? " attributes" : "", TOLD_ARG(a), TOLD_ARG(u),
                p->n_samples, TOLD_ARG(b), TOLD_ARG(v), q->n_samples);
        if (samples) told_explain_sample(t, m, back, p, q);
        fprintf(stderr, "#   dropped %u, payload %zu; back %u, %zu\n", p->dropped_attributes_count,
                p->original_payload.n, q->dropped_attributes_count, q->original_payload.n);
        fprintf(stderr, "#   time %llu + %llu; back %llu + %llu\n",
                (unsigned long long)p->time_unix_nano, (unsigned long long)p->duration_nano,
                (unsigned long long)q->time_unix_nano, (unsigned long long)q->duration_nano);
    }
    for (size_t i = 0; i < t->l->n; i++) {
        const loss *l = &t->l->v[i];
        fprintf(stderr, "# ledger: %s %s %s %s\n", loss_stage_name(l->stage), loss_name(l->concept),
                l->path, l->carried_as ? l->carried_as : "lost");
    }
}

/* `back` is `m` but for what `l` says. */
static inline bool as_told(const model *m, const model *back, const ledger *l)
{
    told t = {l, m};
    bool good = told_digest(&t, m) == told_digest(&t, back);
    if (!good) told_explain(&t, m, back);
    return good;
}
