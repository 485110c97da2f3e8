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

static inline bool told_carrier(const told *t, str key)
{
    for (size_t i = 0; i < t->l->n; i++)
        if (t->l->v[i].carried_as && str_eq(str_of(t->l->v[i].carried_as), key)) return true;
    return false;
}

/* The attributes of one list: a set, but each as often as it is there. */
static inline uint64_t told_attrs(const told *t, const dict *d, const uint32_t *v, size_t n)
{
    uint64_t h = 2;
    if (told_lost(t, LOSS_ATTRIBUTE) || told_lost(t, LOSS_ATTRIBUTE_TYPE)) return h;
    bool units = !told_lost(t, LOSS_ATTRIBUTE_UNIT);
    for (size_t i = 0; i < n; i++) {
        const attribute *a = &d->attributes.v[v[i]];
        if (told_carrier(t, dict_str(d, a->key))) continue;
        uint64_t one = digest_any(digest_str(2, dict_str(d, a->key)), &a->value);
        h += units ? digest_str(one, dict_str(d, a->unit)) : one;
    }
    return h;
}

static inline uint64_t told_span(const told *t, const dict *d, span s)
{
    return told_attrs(t, d, refs_at(&d->attr_refs, s), s.n);
}

static inline uint64_t told_location(const told *t, const dict *d, uint32_t i)
{
    const location *l = &d->locations.v[i];
    const mapping *m = &d->mappings.v[l->mapping];
    uint64_t h = 3;
    if (!told_lost(t, LOSS_MAPPING)) {
        h = hash_mix(hash_mix(hash_mix(h, m->memory_start), m->memory_limit), m->file_offset);
        h = hash_mix(digest_str(h, dict_str(d, m->filename)), l->address);
        if (!told_lost(t, LOSS_BUILD_ID) && !told_lost(t, LOSS_BUILD_ID_KIND))
            h = hash_mix(h, told_span(t, d, m->attrs));
    }
    if (!told_lost(t, LOSS_FRAME_TYPE)) h = hash_mix(h, told_span(t, d, l->attrs));
    bool places = !told_lost(t, LOSS_SOURCE_LINE);
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &d->lines.v[l->lines.at + k];
        const function *f = &d->functions.v[n->function];
        if (!told_lost(t, LOSS_NAME)) h = digest_str(h, dict_str(d, f->name));
        if (!told_lost(t, LOSS_SYSTEM_NAME)) h = digest_str(h, dict_str(d, f->system_name));
        if (!places) continue;
        h = hash_mix(hash_mix(h, (uint64_t)n->line), (uint64_t)n->column);
        h = hash_mix(digest_str(h, dict_str(d, f->filename)), (uint64_t)f->start_line);
    }
    return told_lost(t, LOSS_INLINED) ? h : hash_mix(h, l->lines.n);
}

/* {stack, attributes, link} of a sample. */
static inline uint64_t told_identity(const told *t, const model *m, const sample *s)
{
    const dict *d = &m->dict;
    span f = dict_stack(d, s->stack);
    uint64_t h = told_attrs(t, d, s->attrs, s->n_attrs);
    if (!told_lost(t, LOSS_LINK)) h = hash_bytes(&d->links.v[s->link], sizeof(link_ids), h);
    if (told_lost(t, LOSS_STACK_DEPTH)) return h;
    for (uint32_t k = 0; k < f.n; k++) h = hash_mix(h, told_location(t, d, d->frames.v[f.at + k]));
    return hash_mix(h, f.n);
}

/* Samples are the same one by one.  Without the order of events, those without length may nest otherwise. */
static inline bool told_shapes(const told *t)
{
    return !told_lost(t, LOSS_SAMPLE_SHAPE) && !told_lost(t, LOSS_OBSERVATIONS) &&
           !told_lost(t, LOSS_EVENT_ORDER);
}

/* Samples in their order and shape; where the shape changed, the sum of each identity and of each time. */
static inline uint64_t told_samples(const told *t, const model *m, const profile *p)
{
    uint64_t h = 5, sum = 0;
    /* A guess of the unit is in the ledger as carried, and changes the times. */
    bool times = !told_lost(t, LOSS_TIMESTAMP) && !told_rounded(t, "timestamps") &&
                 !told_new_times(t) && !told_carrier(t, STR("kiln.timestamp_unit"));
    if (told_lost(t, LOSS_VALUE) || told_lost(t, LOSS_VALUE_SATURATED)) return 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        uint64_t id = told_identity(t, m, &s);
        h = hash_mix(h, id);
        for (uint32_t k = 0; k < s.n_values; k++) h = hash_mix(h, (uint64_t)s.values[k]);
        for (uint32_t k = 0; times && k < s.n_times; k++) h = hash_mix(h, s.times[k]);
        h = hash_mix(h, (uint64_t)s.n_values << 20 | (times ? s.n_times : 0));
        for (uint32_t k = 0; k < sample_observations(&s); k++)
            sum += hash_mix(id, times && k < s.n_times ? s.times[k] : 0) *
                   (k < s.n_values ? (uint64_t)s.values[k] : 1);
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

/* All of a profile but its samples and payload. */
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
    if (!told_lost(t, LOSS_VALUE_TYPE))
        h = digest_str(digest_str(h, dict_str(d, p->sample_type.type)),
                       dict_str(d, p->sample_type.unit));
    if (!told_lost(t, LOSS_ATTRIBUTE_SET)) h = hash_mix(h, p->dropped_attributes_count);
    return hash_mix(h, told_span(t, d, p->attrs));
}

static inline uint64_t told_profile(const told *t, const model *m, size_t i)
{
    return hash_mix(told_head(t, m, i), told_samples(t, m, &m->profiles.v[i]));
}

static inline uint64_t told_keyvalues(const told *t, const keyvalues *kv, uint64_t h)
{
    for (size_t i = 0; i < kv->n; i++)
        if (!told_carrier(t, kv->v[i].key))
            h = digest_any(digest_str(h, kv->v[i].key), &kv->v[i].value);
    return h;
}

/* Resources and scopes that say anything, and whose profiles are whose. */
static inline uint64_t told_envelope(const told *t, const model *m)
{
    uint64_t h = 8;
    for (size_t i = 0; i < m->resources.n; i++) {
        const resource *r = &m->resources.v[i];
        bool entities = r->n_entity_refs && !told_lost(t, LOSS_ENTITY_REF);
        if (!r->attrs.n && !r->schema_url.n && !r->dropped_attributes_count && !entities) continue;
        h = digest_str(told_keyvalues(t, &r->attrs, hash_mix(h, r->n_scopes)), r->schema_url);
        h = hash_mix(h, r->dropped_attributes_count);
        for (size_t k = 0; k < r->n_entity_refs && entities; k++)
            h = digest_entity(h, &r->entity_refs[k]);
    }
    for (size_t i = 0; i < m->scopes.n; i++) {
        const scope *s = &m->scopes.v[i];
        bool named = s->name.n || s->version.n || s->schema_url.n || s->dropped_attributes_count;
        if (!named && !s->attrs.n && !s->n_profiles) continue;
        h = hash_mix(h, told_shapes(t) ? s->n_profiles : 0);
        h = digest_str(told_keyvalues(t, &s->attrs, h), s->schema_url);
        h = hash_mix(digest_str(digest_str(h, s->name), s->version), s->dropped_attributes_count);
    }
    return h;
}

static inline uint64_t told_digest(const told *t, const model *m)
{
    uint64_t h = told_lost(t, LOSS_RESOURCE) ? 9 : told_envelope(t, m);
    h = hash_mix(h, told_payloads(t, m));
    if (told_shapes(t)) {
        for (size_t i = 0; i < m->profiles.n; i++) h = hash_mix(h, told_profile(t, m, i));
        return hash_mix(h, m->profiles.n);
    }
    /* A profile of two shapes may come back as two: their sums are added. */
    for (size_t i = 0, k; i < m->profiles.n; i = k) {
        uint64_t head = told_head(t, m, i), sum = 0;
        for (k = i; k < m->profiles.n && told_head(t, m, k) == head; k++)
            sum += told_samples(t, m, &m->profiles.v[k]);
        h = hash_mix(hash_mix(h, head), sum);
    }
    return h;
}

/* Says where two models differ, and what the ledger has. */
static inline void told_explain(const told *t, const model *m, const model *back)
{
    if (told_envelope(t, m) != told_envelope(t, back)) fprintf(stderr, "# envelopes differ\n");
    fprintf(stderr, "# %zu profiles, %zu came back\n", m->profiles.n, back->profiles.n);
    for (size_t i = 0; i < m->profiles.n && i < back->profiles.n; i++) {
        const profile *p = &m->profiles.v[i], *q = &back->profiles.v[i];
        if (told_profile(t, m, i) == told_profile(t, back, i)) continue;
        bool samples = told_samples(t, m, p) != told_samples(t, back, q),
             attrs = told_span(t, &m->dict, p->attrs) != told_span(t, &back->dict, q->attrs);
        str a = dict_str(&m->dict, p->sample_type.type),
            b = dict_str(&back->dict, q->sample_type.type),
            u = dict_str(&m->dict, p->sample_type.unit),
            v = dict_str(&back->dict, q->sample_type.unit);
        fprintf(stderr, "# profile %zu:%s%s %.*s/%.*s, %zu samples; back %.*s/%.*s, %zu\n", i,
                samples ? " samples" : "", attrs ? " attributes" : "", STR_ARG(a), STR_ARG(u),
                p->n_samples, STR_ARG(b), STR_ARG(v), q->n_samples);
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
