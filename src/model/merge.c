#include "model/merge.h"

#include "base/hash.h"
#include "model/builder.h"

#include "base/ban.h"

/* Maps the tables of one input to the builder's: 0 = not yet, else index + 1.  Only what a sample
 * reaches is ever mapped, which is the garbage collection. */
typedef struct remap {
    const model *m;
    uint32_t *string, *mapping, *function, *location, *link, *attribute, *stack;
} remap;

typedef struct merger {
    builder b;
    arena *a;
    remap *in;
    size_t n;
    u32s scratch; /* indices being translated */
    VEC(line) lines;
    merge_opts o;
    uint32_t *rank; /* canonical: place of each stack of the only input */
    size_t n_ranks;
} merger;

static bool remap_init(remap *r, const model *m, arena *a)
{
    const dict *d = &m->dict;
    *r = (remap){.m = m,
                 .string = arena_new(a, uint32_t, d->strings.n),
                 .mapping = arena_new(a, uint32_t, d->mappings.n),
                 .function = arena_new(a, uint32_t, d->functions.n),
                 .location = arena_new(a, uint32_t, d->locations.n),
                 .link = arena_new(a, uint32_t, d->links.n),
                 .attribute = arena_new(a, uint32_t, d->attributes.n),
                 .stack = arena_new(a, uint32_t, dict_n_stacks(d))};
    return r->string && r->mapping && r->function && r->location && r->link && r->attribute &&
           r->stack;
}

#define MAPPED(slot, make) (LIKELY(slot) ? (slot)-1 : ((slot) = (make) + 1) - 1)

static uint32_t map_string(merger *x, remap *r, uint32_t i)
{
    return MAPPED(r->string[i], builder_string(&x->b, r->m->dict.strings.v[i]));
}

static uint32_t map_attribute(merger *x, remap *r, uint32_t i)
{
    const attribute *t = &r->m->dict.attributes.v[i];
    const dict *d = &r->m->dict;
    return MAPPED(r->attribute[i], builder_attribute(&x->b, d->strings.v[t->key], &t->value,
                                                     d->strings.v[t->unit]));
}

/* Translates a list of attribute indices into scratch; an index that became 0 says nothing. */
static bool map_attrs(merger *x, remap *r, const uint32_t *v, size_t n)
{
    x->scratch.n = 0;
    if (!vec_reserve(x->a, &x->scratch, n)) return !(x->b.failed = true);
    for (size_t i = 0; i < n; i++) x->scratch.v[i] = map_attribute(x, r, v[i]);
    x->scratch.n = n;
    return true;
}

static uint32_t make_mapping(merger *x, remap *r, uint32_t i)
{
    const mapping *from = &r->m->dict.mappings.v[i];
    mapping to = *from;
    to.filename = map_string(x, r, from->filename);
    if (!map_attrs(x, r, refs_at(&r->m->dict.attr_refs, from->attrs), from->attrs.n)) return 0;
    return builder_mapping(&x->b, &to, x->scratch.v, x->scratch.n);
}

static uint32_t make_function(merger *x, remap *r, uint32_t i)
{
    function f = r->m->dict.functions.v[i];
    f.name = map_string(x, r, f.name);
    f.system_name = map_string(x, r, f.system_name);
    f.filename = map_string(x, r, f.filename);
    return builder_function(&x->b, &f);
}

static uint32_t make_location(merger *x, remap *r, uint32_t i)
{
    const dict *d = &r->m->dict;
    const location *from = &d->locations.v[i];
    uint32_t mapping_i = MAPPED(r->mapping[from->mapping], make_mapping(x, r, from->mapping));
    x->lines.n = 0;
    if (!vec_reserve(x->a, &x->lines, from->lines.n)) return x->b.failed = true, 0;
    for (uint32_t k = 0; k < from->lines.n; k++) {
        line l = d->lines.v[from->lines.at + k];
        l.function = MAPPED(r->function[l.function], make_function(x, r, l.function));
        x->lines.v[k] = l;
    }
    if (!map_attrs(x, r, refs_at(&d->attr_refs, from->attrs), from->attrs.n)) return 0;
    return builder_location(&x->b, mapping_i, from->address, x->lines.v, from->lines.n,
                            x->scratch.v, x->scratch.n);
}

static uint32_t make_stack(merger *x, remap *r, uint32_t i)
{
    const dict *d = &r->m->dict;
    span s = dict_stack(d, i);
    u32s to = {0};
    if (!vec_reserve(x->a, &to, s.n)) return x->b.failed = true, 0;
    for (uint32_t k = s.n; k-- > 0;) { /* from the root: what stacks share is numbered first */
        uint32_t l = d->frames.v[s.at + k];
        to.v[k] = MAPPED(r->location[l], make_location(x, r, l));
    }
    uint32_t index = builder_stack(&x->b, to.v, s.n);
    arena_trim(x->a, to.v, to.cap * sizeof *to.v, 0);
    return index;
}

static uint32_t map_stack(merger *x, remap *r, uint32_t i)
{
    return MAPPED(r->stack[i], make_stack(x, r, i));
}

static uint32_t map_link(merger *x, remap *r, uint32_t i)
{
    const link_ids *l = &r->m->dict.links.v[i];
    return MAPPED(r->link[i], builder_link(&x->b, l->trace_id, l->span_id));
}

/* ---- canonical order: stacks sorted from the root, so that neighbours share their beginning ----
 *
 * Locations compare by a hash of their content, not by their number: the order does not depend on
 * how the input numbered them, and sorting twice changes nothing. */

static uint64_t hash_string(const dict *d, uint32_t i, uint64_t h)
{
    return hash_bytes(d->strings.v[i].p, d->strings.v[i].n, h);
}

static uint64_t hash_attrs(const dict *d, span s, uint64_t h)
{
    for (uint32_t k = 0; k < s.n; k++) {
        const attribute *t = &d->attributes.v[d->attr_refs.v[s.at + k]];
        h = builder_hash_any(&t->value, hash_string(d, t->key, hash_string(d, t->unit, h)));
    }
    return hash_mix(h, s.n);
}

static uint64_t hash_location(const dict *d, const location *l)
{
    const mapping *m = &d->mappings.v[l->mapping];
    uint64_t h = hash_mix(hash_mix(l->address, m->memory_start), m->memory_limit);
    h = hash_mix(h, m->file_offset);
    h = hash_attrs(d, l->attrs, hash_attrs(d, m->attrs, hash_string(d, m->filename, h)));
    for (uint32_t k = 0; k < l->lines.n; k++) {
        const line *n = &d->lines.v[l->lines.at + k];
        const function *f = &d->functions.v[n->function];
        h = hash_mix(hash_mix(h, (uint64_t)n->line), (uint64_t)n->column);
        h = hash_string(d, f->name, hash_string(d, f->system_name, h));
        h = hash_mix(hash_string(d, f->filename, h), (uint64_t)f->start_line);
    }
    return h;
}

typedef struct stack_ref {
    const uint32_t *frames; /* leaf first */
    const uint64_t *key;    /* per location */
    uint32_t n, index;
} stack_ref;

static int cmp_root(const stack_ref *x, const stack_ref *y)
{
    uint32_t n = x->n < y->n ? x->n : y->n;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t l = x->frames[x->n - i], r = y->frames[y->n - i];
        if (l != r && x->key[l] != x->key[r]) return x->key[l] < x->key[r] ? -1 : 1;
    }
    return x->n < y->n ? -1 : x->n > y->n;
}

static int by_root(const void *a, const void *b)
{
    const stack_ref *x = a, *y = b;
    int d = cmp_root(x, y);
    return d ? d : x->index < y->index ? -1 : x->index > y->index;
}

/* rank[stack] is its place in canonical order (the same for stacks that say the same), order[] the
 * stacks in use in that order. */
static bool stack_order(const model *m, arena *a, uint32_t **rank, uint32_t **order, size_t *n_out)
{
    const dict *d = &m->dict;
    size_t n = dict_n_stacks(d), k = 0;
    stack_ref *v = arena_new(a, stack_ref, n);
    uint64_t *key = arena_array(a, d->locations.n, sizeof *key);
    *rank = arena_new(a, uint32_t, n);
    *order = arena_array(a, n, sizeof **order);
    if (!v || !key || !*rank || !*order) return false;
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t s = 0; s < m->profiles.v[i].n_samples; s++)
            (*rank)[m->profiles.v[i].stack[s]] = 1;
    for (size_t i = 0; i < d->locations.n; i++) key[i] = hash_location(d, &d->locations.v[i]);
    for (uint32_t i = 0; i < n; i++) {
        span s = dict_stack(d, i);
        if ((*rank)[i]) v[k++] = (stack_ref){refs_at(&d->frames, s), key, s.n, i};
    }
    qsort(v, k, sizeof *v, by_root);
    for (size_t i = 0; i < k; i++) {
        (*order)[i] = v[i].index;
        bool same = i > 0 && cmp_root(&v[i - 1], &v[i]) == 0;
        (*rank)[v[i].index] = same ? (*rank)[v[i - 1].index] : (uint32_t)i;
    }
    *n_out = k;
    return true;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Samples of p by the rank of their stack, otherwise in their order: rank << 32 | sample.  Counting
 * sort where there are samples enough to pay for a pass over the ranks. */
static bool sample_order(const profile *p, const uint32_t *rank, size_t n_ranks, arena *a,
                         uint64_t **out)
{
    *out = arena_array(a, p->n_samples, sizeof **out);
    if (!*out) return false;
    if (p->n_samples < n_ranks / 8) {
        for (size_t i = 0; i < p->n_samples; i++)
            (*out)[i] = (uint64_t)rank[p->stack[i]] << 32 | i;
        qsort(*out, p->n_samples, sizeof **out, by_key);
        return true;
    }
    uint32_t *at = arena_new(a, uint32_t, n_ranks + 1);
    if (!at) return false;
    for (size_t i = 0; i < p->n_samples; i++) at[rank[p->stack[i]] + 1]++;
    for (size_t i = 0; i < n_ranks; i++) at[i + 1] += at[i];
    for (size_t i = 0; i < p->n_samples; i++)
        (*out)[at[rank[p->stack[i]]]++] = (uint64_t)rank[p->stack[i]] << 32 | i;
    return true;
}

/* ---- joining ---- */

/* A profile of the result and the inputs that flow into it. */
typedef struct target {
    const resource *resource;
    const scope *scope;
    const profile *first;
    remap *first_of;
    uint32_t next; /* chain of sources: index + 1 into sources */
    uint32_t last;
} target;

typedef struct source {
    const profile *p;
    remap *r;
    uint32_t next;
} source;

static bool same_text(const remap *a, uint32_t i, const remap *b, uint32_t k)
{
    return str_eq(a->m->dict.strings.v[i], b->m->dict.strings.v[k]);
}

/* Profile attributes are a set; compared by value. */
static bool same_attrs(const remap *a, span x, const remap *b, span y)
{
    if (x.n != y.n) return false;
    for (uint32_t i = 0; i < x.n; i++) {
        const attribute *t = &a->m->dict.attributes.v[a->m->dict.attr_refs.v[x.at + i]];
        bool found = false;
        for (uint32_t k = 0; k < y.n && !found; k++) {
            const attribute *u = &b->m->dict.attributes.v[b->m->dict.attr_refs.v[y.at + k]];
            found = same_text(a, t->key, b, u->key) && same_text(a, t->unit, b, u->unit) &&
                    any_equal(&t->value, &u->value);
        }
        if (!found) return false;
    }
    return true;
}

/* Original payloads belong to one recording: such profiles stay apart. */
static bool joins(const target *t, const profile *p, const remap *r)
{
    const profile *q = t->first;
    const remap *o = t->first_of;
    return !p->original_payload.n && !q->original_payload.n && p->period == q->period &&
           same_text(r, p->sample_type.type, o, q->sample_type.type) &&
           same_text(r, p->sample_type.unit, o, q->sample_type.unit) &&
           same_text(r, p->period_type.type, o, q->period_type.type) &&
           same_text(r, p->period_type.unit, o, q->period_type.unit) &&
           same_attrs(r, p->attrs, o, q->attrs);
}

/* Output samples of one joined profile: chains of input samples by identity. */
typedef struct group {
    uint32_t stack, link, attr_at, n_attrs;
    uint32_t first, last; /* chain through member.next, index + 1 */
    bool times_only, values_only;
} group;

typedef struct member {
    const remap *r;
    const profile *p;
    uint32_t sample, next;
} member;

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The set of attributes of a sample, sorted and without repeats, in scratch. */
static bool map_attr_set(merger *x, remap *r, const sample *s)
{
    if (!map_attrs(x, r, s->attrs, s->n_attrs)) return false;
    uint32_t *v = x->scratch.v;
    if (x->scratch.n > 1) qsort(v, x->scratch.n, sizeof *v, by_number);
    size_t k = 0;
    for (size_t i = 0; i < x->scratch.n; i++)
        if (v[i] && (k == 0 || v[k - 1] != v[i])) v[k++] = v[i];
    x->scratch.n = k;
    return true;
}

typedef struct groups {
    VEC(group) v;
    VEC(member) members;
    u32s attrs;
    hash_index index;
} groups;

static bool add_to_group(merger *x, groups *g, remap *r, const profile *p, size_t i)
{
    sample s = sample_at(r->m, p, i);
    if (!map_attr_set(x, r, &s) || !hash_index_room(&g->index, x->a)) return false;
    uint32_t stack = map_stack(x, r, s.stack), link = map_link(x, r, s.link);
    /* map_stack may have used scratch: the set is translated again (all cached now). */
    if (!map_attr_set(x, r, &s)) return false;
    size_t n = x->scratch.n;
    uint64_t h = hash_bytes(x->scratch.v, n * sizeof(uint32_t),
                            hash_mix(x->b.seed, (uint64_t)stack << 32 | link));
    uint32_t at = 0, slot = hash_first(&g->index, h);
    group *to = NULL;
    for (; hash_next(&g->index, &slot, h, &at); slot++) {
        group *c = &g->v.v[at];
        if (c->stack == stack && c->link == link && c->n_attrs == n &&
            (n == 0 || !memcmp(g->attrs.v + c->attr_at, x->scratch.v, n * sizeof(uint32_t)))) {
            to = c;
            break;
        }
    }
    if (!to) {
        if (!vec_reserve(x->a, &g->attrs, n) || !(to = vec_push(x->a, &g->v))) return false;
        *to = (group){.stack = stack,
                      .link = link,
                      .attr_at = (uint32_t)g->attrs.n,
                      .n_attrs = (uint32_t)n,
                      .times_only = true,
                      .values_only = true};
        if (n) memcpy(g->attrs.v + g->attrs.n, x->scratch.v, n * sizeof(uint32_t));
        g->attrs.n += n;
        hash_put(&g->index, slot, h, (uint32_t)(g->v.n - 1));
    }
    member *m = vec_push(x->a, &g->members);
    if (!m) return false;
    *m = (member){r, p, (uint32_t)i, 0};
    if (to->last)
        g->members.v[to->last - 1].next = (uint32_t)g->members.n;
    else
        to->first = (uint32_t)g->members.n;
    to->last = (uint32_t)g->members.n;
    to->times_only &= s.n_values == 0;
    to->values_only &= s.n_times == 0;
    return true;
}

/* Values only: one total.  Otherwise observations are appended; where the shapes of a group differ,
 * a timestamp without a value counts 1, and values without a time make the sample values-only. */
static bool put_group(merger *x, const groups *g, const group *c, i64s *values, u64s *times)
{
    values->n = times->n = 0;
    int64_t total = 0;
    bool saturated = false, mixed = false, lose_times = false;
    for (uint32_t k = c->first; k; k = g->members.v[k - 1].next) {
        const member *m = &g->members.v[k - 1];
        sample s = sample_at(m->r->m, m->p, m->sample);
        total = add_saturating(total, sample_total(&s, &saturated), &saturated);
        if (!vec_reserve(x->a, values, s.n_times) || !vec_reserve(x->a, times, s.n_times))
            return false;
        bool paired = s.n_values == s.n_times;
        mixed |= s.n_times && !paired && !c->times_only;
        lose_times |= !c->values_only && s.n_values && !paired;
        for (uint32_t i = 0; i < s.n_times; i++) {
            values->v[values->n++] = paired ? s.values[i] : 1;
            times->v[times->n++] = s.times[i];
        }
    }
    sample out = {.stack = c->stack,
                  .link = c->link,
                  .attrs = g->attrs.v ? g->attrs.v + c->attr_at : NULL,
                  .n_attrs = c->n_attrs};
    if (c->values_only || lose_times) {
        out.values = &total;
        out.n_values = 1;
    } else {
        out.times = times->v;
        out.n_times = (uint32_t)times->n;
        if (!c->times_only) {
            out.values = values->v;
            out.n_values = (uint32_t)values->n;
        }
    }
    if (saturated && out.n_times == 0)
        ledger_add(x->o.ledger, STAGE_MERGE, LOSS_VALUE_SATURATED, NULL, "samples[].values",
                   (str){0});
    if (lose_times)
        ledger_add_n(x->o.ledger, STAGE_MERGE, LOSS_TIMESTAMP, NULL, times->n,
                     "samples[].timestamps_unix_nano", (str){0});
    else if (mixed)
        ledger_add(x->o.ledger, STAGE_MERGE, LOSS_MIXED_SHAPE, NULL, "samples[]", (str){0});
    builder_sample(&x->b, &out);
    return true;
}

/* ---- profiles ---- */

static void put_profile_head(merger *x, remap *r, const profile *p)
{
    value_type sample_type = {map_string(x, r, p->sample_type.type),
                              map_string(x, r, p->sample_type.unit)};
    value_type period_type = {map_string(x, r, p->period_type.type),
                              map_string(x, r, p->period_type.unit)};
    profile *q = builder_profile(&x->b);
    q->sample_type = sample_type;
    q->period_type = period_type;
    q->period = p->period;
    q->time_unix_nano = p->time_unix_nano;
    q->duration_nano = p->duration_nano;
    memcpy(q->profile_id, p->profile_id, sizeof q->profile_id);
    q->dropped_attributes_count = p->dropped_attributes_count;
    q->original_payload_format = builder_copy_str(&x->b, p->original_payload_format);
    q->original_payload = builder_copy_str(&x->b, p->original_payload);
    if (map_attrs(x, r, refs_at(&r->m->dict.attr_refs, p->attrs), p->attrs.n))
        builder_profile_attrs(&x->b, x->scratch.v, x->scratch.n);
}

static bool copy_samples(merger *x, remap *r, const profile *p)
{
    u32s attrs = {0};
    uint64_t *order = NULL;
    if (x->rank && !sample_order(p, x->rank, x->n_ranks, x->a, &order)) return false;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(r->m, p, order ? (uint32_t)order[i] : i);
        s.stack = map_stack(x, r, s.stack);
        s.link = map_link(x, r, s.link);
        attrs.n = 0;
        if (!vec_reserve(x->a, &attrs, s.n_attrs)) return false;
        for (uint32_t k = 0; k < s.n_attrs; k++) attrs.v[k] = map_attribute(x, r, s.attrs[k]);
        /* Sets, after joining: by their new numbers, so that doing it again changes nothing. */
        if (x->rank && x->o.join && s.n_attrs > 1)
            qsort(attrs.v, s.n_attrs, sizeof *attrs.v, by_number);
        s.attrs = attrs.v;
        builder_sample(&x->b, &s);
    }
    return true;
}

/* The window that holds all sources. */
static void widen(profile *q, const profile *p)
{
    if (!p->time_unix_nano) return;
    uint64_t end = q->time_unix_nano + q->duration_nano, other = p->time_unix_nano + p->duration_nano;
    if (!q->time_unix_nano || p->time_unix_nano < q->time_unix_nano)
        q->time_unix_nano = p->time_unix_nano;
    q->duration_nano = (end > other ? end : other) - q->time_unix_nano;
}

static bool join_profile(merger *x, const target *t, const source *sources)
{
    groups g = {0};
    i64s values = {0};
    u64s times = {0};
    put_profile_head(x, t->first_of, t->first);
    if (x->b.failed) return false;
    profile *q = &x->b.m.profiles.v[x->b.m.profiles.n - 1];
    for (uint32_t k = t->next; k; k = sources[k - 1].next) {
        const source *s = &sources[k - 1];
        if (s->p != t->first) {
            widen(q, s->p);
            memset(q->profile_id, 0, sizeof q->profile_id); /* no longer the profile of that id */
            q->dropped_attributes_count += s->p->dropped_attributes_count;
        }
        for (size_t i = 0; i < s->p->n_samples; i++)
            if (!add_to_group(x, &g, s->r, s->p, i)) return false;
    }
    for (size_t i = 0; i < g.v.n; i++)
        if (!put_group(x, &g, &g.v.v[i], &values, &times)) return false;
    return true;
}

/* ---- the whole ---- */

static bool merge_apart(merger *x)
{
    for (size_t i = 0; i < x->n; i++) {
        const model *m = x->in[i].m;
        for (size_t r = 0; r < m->resources.n; r++) {
            const resource *res = &m->resources.v[r];
            builder_resource(&x->b, res);
            for (uint32_t s = res->first_scope; s < res->first_scope + res->n_scopes; s++) {
                const scope *sc = &m->scopes.v[s];
                builder_scope(&x->b, sc);
                for (uint32_t k = sc->first_profile; k < sc->first_profile + sc->n_profiles; k++) {
                    put_profile_head(x, &x->in[i], &m->profiles.v[k]);
                    if (!copy_samples(x, &x->in[i], &m->profiles.v[k])) return false;
                }
            }
        }
    }
    return true;
}

static uint64_t hash_envelope(const resource *r, const scope *s, const profile *p, const dict *d)
{
    uint64_t h = hash_bytes(s->name.p, s->name.n, hash_mix(0, r->attrs.n));
    for (size_t i = 0; i < r->attrs.n; i++)
        h = hash_bytes(r->attrs.v[i].key.p, r->attrs.v[i].key.n, h);
    str type = d->strings.v[p->sample_type.type];
    return hash_bytes(type.p, type.n, h);
}

static bool merge_joined(merger *x)
{
    VEC(target) targets = {0};
    VEC(source) sources = {0};
    hash_index index = {0};
    for (size_t i = 0; i < x->n; i++) {
        const model *m = x->in[i].m;
        for (size_t k = 0; k < m->profiles.n; k++) {
            const profile *p = &m->profiles.v[k];
            const scope *sc = &m->scopes.v[p->scope];
            const resource *res = &m->resources.v[sc->resource];
            if (!hash_index_room(&index, x->a)) return false;
            uint64_t h = hash_envelope(res, sc, p, &m->dict);
            uint32_t slot = hash_first(&index, h), at;
            target *t = NULL;
            for (; hash_next(&index, &slot, h, &at); slot++) {
                target *c = &targets.v[at];
                if (resource_equal(c->resource, res) && scope_equal(c->scope, sc) &&
                    joins(c, p, &x->in[i])) {
                    t = c;
                    break;
                }
            }
            if (!t) {
                if (!(t = vec_push(x->a, &targets))) return false;
                *t = (target){.resource = res, .scope = sc, .first = p, .first_of = &x->in[i]};
                hash_put(&index, slot, h, (uint32_t)(targets.n - 1));
            }
            source *s = vec_push(x->a, &sources);
            if (!s) return false;
            *s = (source){p, &x->in[i], 0};
            if (t->last)
                sources.v[t->last - 1].next = (uint32_t)sources.n;
            else
                t->next = (uint32_t)sources.n;
            t->last = (uint32_t)sources.n;
        }
    }
    /* Resources and scopes in order of first use; targets of one scope together. */
    bool *done = arena_new(x->a, bool, targets.n);
    if (!done) return false;
    for (size_t i = 0; i < targets.n; i++) {
        if (done[i]) continue;
        builder_resource(&x->b, targets.v[i].resource);
        for (size_t s = i; s < targets.n; s++) {
            if (done[s] || !resource_equal(targets.v[s].resource, targets.v[i].resource)) continue;
            builder_scope(&x->b, targets.v[s].scope);
            for (size_t k = s; k < targets.n; k++) {
                if (done[k] || !resource_equal(targets.v[k].resource, targets.v[i].resource) ||
                    !scope_equal(targets.v[k].scope, targets.v[s].scope))
                    continue;
                done[k] = true;
                if (!join_profile(x, &targets.v[k], sources.v)) return false;
            }
        }
    }
    return true;
}

static bool merge_into(const model *const *in, size_t n, const merge_opts *o, arena *a, arena *work,
                       model *out, err *e)
{
    merger x = {.a = work, .n = n, .o = *o};
    bool ok = builder_init(&x.b, a, 0) && (x.in = arena_new(work, remap, n));
    x.b.borrow = !o->copy_strings;
    for (size_t i = 0; ok && i < n; i++) ok = remap_init(&x.in[i], in[i], work);
    ok = ok && (o->join ? merge_joined(&x) : merge_apart(&x));
    if (!ok) x.b.failed = true;
    return builder_finish(&x.b, out, e);
}

/* One model in canonical order: its stacks are taken in that order first, so that locations,
 * functions and strings are numbered along it. */
static bool reorder(const model *m, const merge_opts *o, arena *a, arena *work, model *out, err *e)
{
    merger x = {.a = work, .n = 1, .o = *o};
    uint32_t *order = NULL;
    bool ok = builder_init(&x.b, a, 0) && (x.in = arena_new(work, remap, 1)) &&
              remap_init(&x.in[0], m, work) && stack_order(m, work, &x.rank, &order, &x.n_ranks);
    x.b.borrow = !o->copy_strings;
    for (size_t i = 0; ok && i < x.n_ranks; i++) map_stack(&x, &x.in[0], order[i]);
    ok = ok && merge_apart(&x);
    if (!ok) x.b.failed = true;
    return builder_finish(&x.b, out, e);
}

bool model_merge(const model *const *in, size_t n, const merge_opts *o, arena *a, model *out, err *e)
{
    static const merge_opts defaults;
    if (!o) o = &defaults;
    arena work = {.budget = a->budget}, first = {.budget = a->budget};
    bool ok;
    if (o->canonical && n == 1 && !o->join) {
        ok = reorder(in[0], o, a, &work, out, e);
    } else if (o->canonical) {
        model joined;
        ok = merge_into(in, n, o, &first, &work, &joined, e);
        arena_reset(&work);
        ok = ok && reorder(&joined, o, a, &work, out, e);
    } else {
        ok = merge_into(in, n, o, a, &work, out, e);
    }
    arena_free(&first);
    arena_free(&work);
    return ok;
}

bool model_gc(const model *in, arena *a, model *out, err *e)
{
    return model_merge(&in, 1, NULL, a, out, e);
}
