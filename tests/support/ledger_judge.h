/* tests/support/ledger_judge.h - checks that two models differ only by what the ledger lists.
 *
 * Hashes a model without the concepts that the ledger lists as lost, and without the attributes
 * that carry something. Two models are equal by the ledger when these hashes are equal: an entry
 * excuses a difference of its own concept and no other. Written independently of the code under
 * test. */
#pragma once
#include "digest.h"

#include "model/ledger.h"

#include <stdio.h>
#include <string.h>

#define JUDGE_ARG(s) (int)((s).n < 20 ? (s).n : 20), (s).p

typedef struct ledger_judge {
    const ledger *l;
    const model *base; /* profiles without an id or a payload format here may get one */
} ledger_judge;

static inline bool judge_lost(const ledger_judge *t, loss_concept c)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == c && !t->l->v[i].carried_as) return true;
    return false;
}

/* Returns whether samples without a time got one. */
static inline bool judge_new_times(const ledger_judge *t)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_SAMPLE_SHAPE && strstr(t->l->v[i].value, "get the time"))
            return true;
    return false;
}

/* Returns whether the value that the path names was rounded. */
static inline bool judge_rounded(const ledger_judge *t, const char *what)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_ROUNDED && strstr(t->l->v[i].path, what)) return true;
    return false;
}

/* An entry has the key of its first example: a scope may carry something in one place and a profile
 * in another. */
static inline bool judge_carrier(const ledger_judge *t, str key)
{
    for (size_t i = 0; i < t->l->n; i++) {
        const loss *l = &t->l->v[i];
        if (!l->carried_as) continue;
        if (str_eq(str_of(l->carried_as), key)) return true;
        if (l->concept == LOSS_SAMPLE_TYPE_ORDER && str_ends(key, STR(".sample_type_order")))
            return true;
        if (l->concept == LOSS_DEFAULT_SAMPLE_TYPE && str_ends(key, STR(".default_sample_type")))
            return true;
        if (l->concept == LOSS_ARBITRARY_ID) /* a generated id */
            if (str_eq(key, STR("thread.id")) || str_eq(key, STR("process.pid"))) return true;
        if (l->concept == LOSS_ATTRIBUTE && str_eq(str_of(l->carried_as), STR("kiln.profile.name")))
            if (str_eq(key, STR("thread.id")) || str_eq(key, STR("thread.name"))) return true;
    }
    return str_eq(key, STR("kiln.event.args")) && judge_lost(t, LOSS_EVENT_DETAIL);
}

/* Returns whether profile p was skipped: it has no observations, and the ledger lists that. */
static inline bool judge_left_out(const ledger_judge *t, const model *m, const profile *p)
{
    bool listed = false;
    for (size_t i = 0; i < t->l->n; i++)
    listed |= t->l->v[i].concept == LOSS_METADATA && !strcmp(t->l->v[i].path, "profiles[]");
    for (size_t i = 0; listed && i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        if (sample_observations(&s)) return false;
    }
    return listed;
}

/* Returns whether frames without a name are named by their address. */
static inline bool judge_address_names(const ledger_judge *t)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_NAME && t->l->v[i].carried_as) return true;
    return false;
}

/* Returns whether attributes of resources became comments or labels. */
static inline bool judge_resources_moved(const ledger_judge *t)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].concept == LOSS_RESOURCE && t->l->v[i].carried_as) return true;
    return false;
}

/* Returns whether a label of a sample was an attribute of a resource. */
static inline bool judge_resource_label(const ledger_judge *t, str key)
{
    if (!judge_lost(t, LOSS_RESOURCE) && !judge_carrier(t, STR("label"))) return false;
    for (size_t i = 0; i < t->base->resources.n; i++) {
        const keyvalues *kv = &t->base->resources.v[i].attrs;
        for (size_t k = 0; k < kv->n; k++)
            if (str_eq(kv->v[k].key, key)) return true;
    }
    return false;
}

static inline uint64_t judge_attr(const ledger_judge *t, str key, str unit, const any *v)
{
    bool units = !judge_lost(t, LOSS_ATTRIBUTE_UNIT);
    if (!key.n && !(units && unit.n) && v->kind == ANY_EMPTY) return 0; /* empty */
    uint64_t h = digest_any(digest_str(2, key), v);
    return units ? digest_str(h, unit) : h;
}

/* An element of a list of attributes with one key: a value, or {str or num, unit}. */
static inline uint64_t judge_element(const ledger_judge *t, str key, str unit, const any *v)
{
    const any *value = v;
    for (uint32_t i = 0; v->kind == ANY_KVLIST && i < v->n; i++) {
        bool is_unit = str_eq(v->kvlist[i].key, STR("unit"));
        if (is_unit) unit = any_str(&v->kvlist[i].value);
        if (!is_unit) value = &v->kvlist[i].value;
    }
    return judge_attr(t, key, unit, value);
}

/* Hashes the attributes of one list as a set that counts duplicates. */
static inline uint64_t judge_attrs(const ledger_judge *t, const dict *d, const uint32_t *v,
                                   size_t n)
{
    uint64_t h = 2;
    if (judge_lost(t, LOSS_ATTRIBUTE) || judge_lost(t, LOSS_ATTRIBUTE_TYPE)) return h;
    /* otherwise an attribute may become several with one key */
    bool lists = !judge_lost(t, LOSS_ATTRIBUTE_SET);
    for (size_t i = 0; i < n; i++) {
        const attribute *a = &d->attributes.v[v[i]];
        str key = dict_str(d, a->key), unit = dict_str(d, a->unit);
        if (judge_carrier(t, key) || judge_resource_label(t, key)) continue;
        if (lists || a->value.kind != ANY_ARRAY) h += judge_attr(t, key, unit, &a->value);
        for (uint32_t k = 0; !lists && a->value.kind == ANY_ARRAY && k < a->value.n; k++)
            h += judge_element(t, key, unit, &a->value.array[k]);
    }
    return h;
}

static inline uint64_t judge_span(const ledger_judge *t, const dict *d, span s)
{
    return judge_attrs(t, d, refs_at(&d->attr_refs, s), s.n);
}

/* The name of a function, or its replacement. */
static inline uint64_t judge_name(const ledger_judge *t, const dict *d, const location *l,
                                  const function *f, uint64_t h)
{
    char address[24];
    str name = f ? dict_str(d, f->name) : (str){0},
        system = f ? dict_str(d, f->system_name) : (str){0};
    bool mangled = system.n && !judge_lost(t, LOSS_SYSTEM_NAME) && !str_eq(name, system);
    if (!name.n && !mangled) name = system;
    if (!name.n && (!f || l->address) && judge_address_names(t))
        name = (str){address, (size_t)snprintf(address, sizeof address, "0x%llx",
                                               (unsigned long long)l->address)};
    if (!judge_lost(t, LOSS_NAME)) h = digest_str(h, name);
    return mangled ? digest_str(h, system) : h;
}

static inline uint64_t judge_line(const ledger_judge *t, const dict *d, const location *l,
                                  const line *n, uint64_t h)
{
    const function *f = n ? &d->functions.v[n->function] : NULL;
    h = judge_name(t, d, l, f, h);
    if (judge_lost(t, LOSS_SOURCE_LINE)) return h;
    h = hash_mix(hash_mix(h, n ? (uint64_t)n->line : 0), n ? (uint64_t)n->column : 0);
    return hash_mix(digest_str(h, f ? dict_str(d, f->filename) : (str){0}),
                    f ? (uint64_t)f->start_line : 0);
}

/* Hashes a location without its lines. */
static inline uint64_t judge_place(const ledger_judge *t, const dict *d, const location *l)
{
    const mapping *m = &d->mappings.v[l->mapping];
    uint64_t h = 3;
    if (!judge_lost(t, LOSS_MAPPING)) {
        h = hash_mix(hash_mix(hash_mix(h, m->memory_start), m->memory_limit), m->file_offset);
        h = hash_mix(digest_str(h, dict_str(d, m->filename)),
                     judge_address_names(t) ? 0 : l->address);
        if (!judge_lost(t, LOSS_BUILD_ID) && !judge_lost(t, LOSS_BUILD_ID_KIND))
            h = hash_mix(h, judge_span(t, d, m->attrs));
    }
    return judge_lost(t, LOSS_FRAME_TYPE) ? h : hash_mix(h, judge_span(t, d, l->attrs));
}

/* Hashes a frame for each line if inlined calls became frames. */
static inline uint64_t judge_location(const ledger_judge *t, const dict *d, uint32_t i, uint64_t h)
{
    const location *l = &d->locations.v[i];
    bool apart = judge_lost(t, LOSS_INLINED);
    uint64_t place = judge_place(t, d, l);
    uint32_t n = l->lines.n;
    if (!apart) h = hash_mix(h, place);
    for (uint32_t k = 0; k < l->lines.n; k++)
        h = judge_line(t, d, l, &d->lines.v[l->lines.at + k], apart ? hash_mix(h, place) : h);
    if (!l->lines.n && judge_address_names(t))
        h = judge_line(t, d, l, NULL, apart ? hash_mix(h, place) : h), n = 1;
    return apart ? h : hash_mix(h, n);
}

/* Hashes stack, attributes and link of a sample. */
static inline uint64_t judge_identity(const ledger_judge *t, const model *m, const sample *s)
{
    const dict *d = &m->dict;
    span f = dict_stack(d, s->stack);
    uint64_t h = judge_attrs(t, d, s->attrs, s->n_attrs);
    if (!judge_lost(t, LOSS_LINK)) h = hash_bytes(&d->links.v[s->link], sizeof(link_ids), h);
    if (judge_lost(t, LOSS_STACK_DEPTH)) return h;
    for (uint32_t k = 0; k < f.n; k++) h = judge_location(t, d, d->frames.v[f.at + k], h);
    return judge_lost(t, LOSS_INLINED) ? h : hash_mix(h, f.n);
}

/* Returns the time of an observation, which may be the sample's attribute `timestamp`. Sets *has if
 * there is one. */
static inline uint64_t judge_time(const ledger_judge *t, const dict *d, const sample *s, uint32_t k,
                                  bool *has)
{
    *has = k < s->n_times;
    if (*has) return s->times[k];
    for (uint32_t i = 0; i < s->n_attrs && judge_carrier(t, STR("timestamp")); i++) {
        const attribute *a = &d->attributes.v[s->attrs[i]];
        if (!str_eq(dict_str(d, a->key), STR("timestamp")) || a->value.kind != ANY_INT) continue;
        *has = true;
        return (uint64_t)a->value.i;
    }
    return 0;
}

/* Returns whether samples must be equal one by one. If the order of events is lost, events without
 * duration may nest differently. */
static inline bool judge_shapes(const ledger_judge *t)
{
    for (size_t i = 0; i < t->l->n; i++) /* carried, by a sample for each observation */
        if (t->l->v[i].concept == LOSS_SAMPLE_SHAPE) return false;
    return !judge_lost(t, LOSS_OBSERVATIONS) && !judge_lost(t, LOSS_NESTING) &&
           !judge_lost(t, LOSS_EVENT_ORDER) && !judge_lost(t, LOSS_MIXED_SHAPE);
}

/* Hashes samples in their order and shape; where the shape changed, the sum of each identity and
 * time. */
static inline uint64_t judge_samples(const ledger_judge *t, const model *m, const profile *p)
{
    uint64_t h = 5, sum = 0;
    bool times = !judge_lost(t, LOSS_TIMESTAMP) && !judge_lost(t, LOSS_NESTING) &&
                 !judge_rounded(t, "timestamps") && !judge_new_times(t);
    if (judge_lost(t, LOSS_VALUE) || judge_lost(t, LOSS_VALUE_SATURATED) ||
        judge_lost(t, LOSS_VALUE_SCALE))
        return 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        uint64_t id = judge_identity(t, m, &s);
        h = hash_mix(hash_mix(h, id), s.n_values);
        for (uint32_t k = 0; k < s.n_values; k++) h = hash_mix(h, (uint64_t)s.values[k]);
        for (uint32_t k = 0, n = s.n_times ? s.n_times : 1; times && k < n; k++) {
            bool has;
            uint64_t time = judge_time(t, &m->dict, &s, k, &has);
            if (has) h = hash_mix(h, time);
        }
        for (uint32_t k = 0; k < sample_observations(&s); k++) {
            bool has;
            uint64_t time = times ? judge_time(t, &m->dict, &s, k, &has) : 0;
            sum += hash_mix(id, time) * (k < s.n_values ? (uint64_t)s.values[k] : 1);
        }
    }
    return judge_shapes(t) ? hash_mix(h, p->n_samples) : sum;
}

/* Returns whether every profile has an id, or with `payloads` a format for its payload. */
static inline bool judge_all_have(const model *m, bool payloads)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (payloads ? p->original_payload.n && !p->original_payload_format.n
                     : id_is_zero(p->profile_id, 16))
            return false;
    }
    return true;
}

/* Hashes the payloads in their order; a payload that several profiles share belongs to the
 * first. */
static inline uint64_t judge_payloads(const ledger_judge *t, const model *m)
{
    uint64_t h = 6;
    bool formats = judge_all_have(t->base, true);
    for (size_t i = 0; i < m->profiles.n && !judge_lost(t, LOSS_ORIGINAL_PAYLOAD); i++) {
        const profile *p = &m->profiles.v[i];
        if (p->original_payload.n) h = digest_str(h, p->original_payload);
        if (formats && p->original_payload_format.n) h = digest_str(h, p->original_payload_format);
    }
    return h;
}

static inline uint64_t judge_type(const ledger_judge *t, const dict *d, const profile *p)
{
    if (judge_lost(t, LOSS_VALUE_TYPE)) return 7;
    return digest_str(digest_str(7, dict_str(d, p->sample_type.type)),
                      dict_str(d, p->sample_type.unit));
}

/* Hashes a profile without its type, samples and payload. */
static inline uint64_t judge_head(const ledger_judge *t, const model *m, size_t i)
{
    const profile *p = &m->profiles.v[i];
    const dict *d = &m->dict;
    uint64_t h = 7;
    bool had_id = judge_all_have(t->base, false);
    if (had_id && !judge_lost(t, LOSS_PROFILE_ID)) h = hash_bytes(p->profile_id, 16, h);
    /* A window may be derived from rounded times. */
    if (!judge_lost(t, LOSS_TIME) && !judge_rounded(t, "timestamps"))
        h = hash_mix(hash_mix(h, p->time_unix_nano), p->duration_nano);
    if (!judge_lost(t, LOSS_PERIOD))
        h = hash_mix(digest_str(digest_str(h, dict_str(d, p->period_type.type)),
                                dict_str(d, p->period_type.unit)),
                     (uint64_t)p->period);
    if (!judge_lost(t, LOSS_ATTRIBUTE_SET)) h = hash_mix(h, p->dropped_attributes_count);
    return hash_mix(h, judge_span(t, d, p->attrs));
}

static inline uint64_t judge_class(const ledger_judge *t, const model *m, size_t i)
{
    return hash_mix(judge_head(t, m, i), judge_type(t, &m->dict, &m->profiles.v[i]));
}

static inline uint64_t judge_profile(const ledger_judge *t, const model *m, size_t i)
{
    return hash_mix(judge_class(t, m, i), judge_samples(t, m, &m->profiles.v[i]));
}

static inline uint64_t judge_keyvalues(const ledger_judge *t, const keyvalues *kv, uint64_t h)
{
    for (size_t i = 0; i < kv->n; i++)
        if (!judge_carrier(t, kv->v[i].key))
            h = digest_any(digest_str(h, kv->v[i].key), &kv->v[i].value);
    return h;
}

static inline uint64_t judge_resource(const ledger_judge *t, const resource *r)
{
    bool entities = r->n_entity_refs && !judge_lost(t, LOSS_ENTITY_REF);
    uint64_t h = digest_str(hash_mix(8, r->n_scopes), r->schema_url), none = h,
             dropped = judge_lost(t, LOSS_ATTRIBUTE_SET) ? 0 : r->dropped_attributes_count;
    if (!judge_resources_moved(t)) h = judge_keyvalues(t, &r->attrs, h);
    for (size_t k = 0; k < r->n_entity_refs && entities; k++)
        h = digest_entity(h, &r->entity_refs[k]);
    return h == none && !dropped && !r->schema_url.n ? 0 : hash_mix(h, dropped);
}

static inline uint64_t judge_scope(const ledger_judge *t, const model *m, const scope *s)
{
    uint64_t h = digest_str(digest_str(digest_str(8, s->name), s->version), s->schema_url),
             none = h,
             dropped = judge_lost(t, LOSS_ATTRIBUTE_SET) ? 0 : s->dropped_attributes_count;
    bool named = s->name.n || s->version.n || s->schema_url.n || dropped;
    size_t n = judge_lost(t, LOSS_MIXED_SHAPE) ? 0 : s->n_profiles;
    for (size_t i = 0, all = n; i < all; i++)
        n -= judge_left_out(t, m, &m->profiles.v[s->first_profile + i]);
    h = judge_keyvalues(t, &s->attrs, h);
    if (h == none && !named && !n) return 0;
    return hash_mix(hash_mix(h, dropped), judge_shapes(t) ? n : 0);
}

/* Hashes resources and scopes that are not empty, with their profiles. */
static inline uint64_t judge_envelope(const ledger_judge *t, const model *m)
{
    uint64_t h = 8, one;
    for (size_t i = 0; i < m->resources.n; i++)
        if ((one = judge_resource(t, &m->resources.v[i]))) h = hash_mix(h, one);
    for (size_t i = 0; i < m->scopes.n; i++)
        if ((one = judge_scope(t, m, &m->scopes.v[i]))) h = hash_mix(h, one);
    return h;
}

/* Hashes profiles that became types of one profile: the sum of each type and identity. */
static inline uint64_t judge_joined(const ledger_judge *t, const model *m)
{
    uint64_t h = 10, sums = 0, types = 0, heads = 0, before = 0;
    bool ordered = !judge_lost(t, LOSS_SAMPLE_TYPE_ORDER);
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (judge_left_out(t, m, p)) continue;
        uint64_t type = judge_type(t, &m->dict, p) | 1, head = judge_head(t, m, i);
        bool new_type = true, new_head = true;
        sums += type * judge_samples(t, m, p);
        for (size_t k = 0; k < i; k++) {
            if (judge_left_out(t, m, &m->profiles.v[k])) continue;
            new_type &= (judge_type(t, &m->dict, &m->profiles.v[k]) | 1) != type;
            new_head &= judge_head(t, m, k) != head;
        }
        if (new_type) types += type;
        if (new_head) heads += head;
        if (ordered && (h == 10 || head != before)) h = hash_mix(h, head);
        before = head;
    }
    return hash_mix(hash_mix(hash_mix(h, sums), types), heads);
}

/* Hashes profiles in any order and shape: the classes, and the sum of each. */
static inline uint64_t judge_classes(const ledger_judge *t, const model *m)
{
    uint64_t sums = 0, classes = 0;
    for (size_t i = 0; i < m->profiles.n; i++) {
        if (judge_left_out(t, m, &m->profiles.v[i])) continue;
        uint64_t class = judge_class(t, m, i) | 1;
        bool fresh = true;
        for (size_t k = 0; k < i; k++)
            fresh &= (judge_class(t, m, k) | 1) != class || judge_left_out(t, m, &m->profiles.v[k]);
        if (fresh) classes += class;
        sums += class * judge_samples(t, m, &m->profiles.v[i]);
    }
    return hash_mix(sums, classes);
}

static inline uint64_t judge_digest(const ledger_judge *t, const model *m)
{
    uint64_t h = judge_lost(t, LOSS_RESOURCE) ? 9 : judge_envelope(t, m), all = 0;
    h = hash_mix(h, judge_payloads(t, m));
    if (judge_lost(t, LOSS_MIXED_SHAPE)) return hash_mix(h, judge_joined(t, m));
    bool ordered = !judge_lost(t, LOSS_SAMPLE_TYPE_ORDER);
    size_t n = 0;
    if (judge_shapes(t)) {
        for (size_t i = 0; i < m->profiles.n; i++) {
            if (judge_left_out(t, m, &m->profiles.v[i])) continue;
            uint64_t one = judge_profile(t, m, i);
            all = ordered ? hash_mix(all, one) : all + one;
            n++;
        }
        return hash_mix(hash_mix(h, all), n);
    }
    if (!ordered) return hash_mix(h, judge_classes(t, m));
    /* A profile with two shapes may be read as two: their sums are added. */
    for (size_t i = 0, k; i < m->profiles.n; i = k) {
        uint64_t head = judge_class(t, m, i), sum = 0;
        for (k = i; k < m->profiles.n; k++) {
            if (judge_left_out(t, m, &m->profiles.v[k])) continue;
            if (judge_class(t, m, k) != head) break;
            sum += judge_samples(t, m, &m->profiles.v[k]);
        }
        if (judge_left_out(t, m, &m->profiles.v[i])) {
            k = i + 1;
            continue;
        }
        all = hash_mix(all, hash_mix(head, sum));
    }
    return hash_mix(h, all);
}

/* Prints the first sample that differs, and how. */
static inline void judge_explain_sample(const ledger_judge *t, const model *m, const model *back,
                                        const profile *p, const profile *q)
{
    for (size_t i = 0; i < p->n_samples && i < q->n_samples; i++) {
        sample s = sample_at(m, p, i), u = sample_at(back, q, i);
        const link_ids *x = &m->dict.links.v[s.link], *y = &back->dict.links.v[u.link];
        bool link = !memcmp(x, y, sizeof *x),
             attrs = judge_attrs(t, &m->dict, s.attrs, s.n_attrs) ==
                     judge_attrs(t, &back->dict, u.attrs, u.n_attrs),
             id = judge_identity(t, m, &s) == judge_identity(t, back, &u),
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

/* Prints where two models differ, and the ledger. */
static inline void judge_explain(const ledger_judge *t, const model *m, const model *back)
{
    if (judge_envelope(t, m) != judge_envelope(t, back)) fprintf(stderr, "# envelopes differ\n");
    fprintf(stderr, "# %zu profiles, %zu came back\n", m->profiles.n, back->profiles.n);
    for (size_t i = 0, k = 0; i < m->profiles.n && k < back->profiles.n; i++, k++) {
        while (i + 1 < m->profiles.n && judge_left_out(t, m, &m->profiles.v[i])) i++;
        while (k + 1 < back->profiles.n && judge_left_out(t, back, &back->profiles.v[k])) k++;
        const profile *p = &m->profiles.v[i], *q = &back->profiles.v[k];
        if (judge_profile(t, m, i) == judge_profile(t, back, k)) continue;
        bool samples = judge_samples(t, m, p) != judge_samples(t, back, q),
             attrs = judge_span(t, &m->dict, p->attrs) != judge_span(t, &back->dict, q->attrs);
        str a = dict_str(&m->dict, p->sample_type.type),
            b = dict_str(&back->dict, q->sample_type.type),
            u = dict_str(&m->dict, p->sample_type.unit),
            v = dict_str(&back->dict, q->sample_type.unit);
        fprintf(stderr, "# profile %zu:%s%s %.*s/%.*s, %zu samples; back %.*s/%.*s, %zu\n", i,
                samples ? " samples" : "", attrs ? " attributes" : "", JUDGE_ARG(a), JUDGE_ARG(u),
                p->n_samples, JUDGE_ARG(b), JUDGE_ARG(v), q->n_samples);
        if (samples) judge_explain_sample(t, m, back, p, q);
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

/* Returns whether `back` differs from `m` only by what `l` lists. */
static inline bool equal_by_ledger(const model *m, const model *back, const ledger *l)
{
    ledger_judge t = {l, m};
    bool good = judge_digest(&t, m) == judge_digest(&t, back);
    if (!good) judge_explain(&t, m, back);
    return good;
}
