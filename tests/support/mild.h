/* tests/support/mild.h - random models that are hard to represent in a few respects only.
 *
 * A random model contains much that a format cannot represent, and a ledger that lists everything
 * excuses every difference. Each difficult trait is removed from three models in four, so that
 * these must be restored exactly. */
#pragma once
#include "random_model.h"

#include <stdio.h>

static inline str mild_name(arena *a, size_t i)
{
    char *p = rm_array(a, 24, 1);
    return (str){p, (size_t)snprintf(p, 24, "k%zu", i)};
}

/* Makes attributes texts and integers, each with its own key; or gives them keys that the format
 * knows, and values that may fit them. */
static inline void mild_attributes(rng *r, arena *a, const char *const *words, dict *d)
{
    size_t n_words = 0;
    while (words && words[n_words]) n_words++;
    bool known = n_words && one_in(r, 4);
    for (size_t i = 1; i < d->attributes.n; i++) {
        attribute *t = &d->attributes.v[i];
        bool word = known && one_in(r, 2);
        *vec_push(a, &d->strings) = word ? str_of(words[below(r, n_words)]) : mild_name(a, i);
        t->key = (uint32_t)(d->strings.n - 1);
        str s = rm_string(r, a);
        t->value = one_in(r, 2) ? (any){.kind = ANY_INT, .i = (int64_t)rnd_wide(r)}
                                : (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
        if (word && one_in(r, 4)) t->value = (any){.kind = ANY_BOOL, .i = one_in(r, 2)};
    }
}

/* Removes repeated attributes from samples. */
static inline void mild_sample_attrs(model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++)
        if (m->profiles.v[i].attr_span.off || m->profiles.v[i].attr_span.stride > 1)
            m->profiles.v[i].attr_span = (spans){0};
}

static inline void mild_dict(rng *r, arena *a, const char *const *words, dict *d)
{
    bool units = one_in(r, 4), places = one_in(r, 4), inlined = one_in(r, 4), maps = one_in(r, 4);
    bool map_attrs = one_in(r, 4), frame_attrs = one_in(r, 4), mangled = one_in(r, 4);
    if (!one_in(r, 4)) mild_attributes(r, a, words, d);
    for (size_t i = 0; i < d->attributes.n && !units; i++) d->attributes.v[i].unit = 0;
    for (size_t i = 0; i < d->mappings.n; i++) {
        if (!maps) d->mappings.v[i] = (mapping){0};
        if (!map_attrs) d->mappings.v[i].attrs = (span){0};
    }
    for (size_t i = 1; i < d->functions.n; i++) {
        function *f = &d->functions.v[i];
        if (!places) f->start_line = 0, f->filename = 0;
        if (!mangled) f->system_name = 0;
    }
    for (size_t i = 0; i < d->lines.n && !places; i++)
        d->lines.v[i].line = d->lines.v[i].column = 0;
    for (size_t i = 0; i < d->locations.n; i++) {
        location *l = &d->locations.v[i];
        if (!maps) l->mapping = 0, l->address = 0;
        if (!frame_attrs) l->attrs = (span){0};
        if (!inlined && l->lines.n > 1) l->lines.n = 1;
    }
}

static inline void mild_heads(rng *r, model *m)
{
    bool ids = one_in(r, 4), payloads = one_in(r, 4), attrs = one_in(r, 4), dropped = one_in(r, 4);
    bool periods = one_in(r, 4), windows = one_in(r, 4), times = one_in(r, 4);
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i], *first = &m->profiles.v[0];
        if (!ids) memset(p->profile_id, 0, 16);
        if (!payloads) p->original_payload = p->original_payload_format = (str){0};
        if (!attrs) p->attrs = (span){0};
        if (!dropped) p->dropped_attributes_count = 0;
        if (!periods) p->period = first->period, p->period_type = first->period_type;
        if (!windows) {
            p->time_unix_nano = i ? first->time_unix_nano : p->time_unix_nano >> 2;
            p->duration_nano = i ? first->duration_nano : p->duration_nano >> 2;
        }
        if (!times) p->time_span = (spans){0};
    }
}

/* Gives every sample one value, and one time if its profile has times. */
static inline void mild_shapes(model *m)
{
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        size_t have = rm_column_n(&p->value_span, p->n_samples),
               times = rm_column_n(&p->time_span, p->n_samples);
        if (have < p->n_samples) p->n_samples = have;
        if (times && times < p->n_samples) p->n_samples = times;
        uint32_t value = p->value_span.off ? p->value_span.off[0] : p->value_span.base,
                 time = p->time_span.off ? p->time_span.off[0] : p->time_span.base;
        p->value_span = (spans){.base = value, .stride = 1};
        p->time_span = (spans){.base = time, .stride = times != 0};
    }
}

static inline void mild_envelopes(rng *r, model *m)
{
    bool resources = one_in(r, 4), scopes = one_in(r, 4), one = !one_in(r, 4);
    for (size_t i = 0; i < m->resources.n && !resources; i++) {
        resource *x = &m->resources.v[i];
        *x = (resource){.first_scope = x->first_scope, .n_scopes = x->n_scopes};
    }
    for (size_t i = 0; i < m->scopes.n && !scopes; i++) {
        scope *x = &m->scopes.v[i];
        *x = (scope){.resource = x->resource,
                     .first_profile = x->first_profile,
                     .n_profiles = x->n_profiles};
    }
    if (!one || !m->profiles.n) return;
    /* Keeps only the first profile. */
    scope s = m->scopes.v[m->profiles.v[0].scope];
    m->resources.v[0] = m->resources.v[s.resource];
    m->resources.v[0].first_scope = 0;
    s.resource = s.first_profile = 0;
    m->scopes.v[0] = s;
    m->profiles.v[0].scope = 0;
    m->resources.n = m->scopes.n = m->resources.v[0].n_scopes = 1;
    m->profiles.n = m->scopes.v[0].n_profiles = 1;
}

/* `words` are keys that the format knows, terminated by NULL; or NULL. */
static inline model mild_model(rng *r, arena *a, const random_opts *o, const char *const *words)
{
    model m = random_model(r, a, o);
    mild_envelopes(r, &m);
    mild_heads(r, &m);
    if (!one_in(r, 4)) mild_shapes(&m);
    if (!one_in(r, 4)) mild_sample_attrs(&m);
    mild_dict(r, a, words, &m.dict);
    for (size_t i = 0; i < m.profiles.n; i++)
        if (!one_in(r, 4)) m.profiles.v[i].link = NULL;
    bool small = !one_in(r, 4);
    for (size_t i = 0; i < m.values.n && small; i++) m.values.v[i] &= 0xffff;
    return m;
}
