/* Joins profiles with equal resource, scope, types, period and attributes into one, and their
 * samples with equal stack, attributes and link into one sample. Envelopes and profiles are found
 * through chains by resource and scope, so the cost does not grow with the square of the inputs. */
#include "model/internal.h"

#include "base/ban.h"

/* ---- joining ---- */

/* A profile of the result and the profiles that are joined into it. */
typedef struct target {
    uint32_t scope;       /* position of its scope */
    uint32_t next_target; /* in the same scope: index + 1 */
    const profile *first;
    importer *first_of;
    uint32_t next; /* chain of sources: index + 1 into sources */
    uint32_t last;
} target;

typedef struct source {
    const profile *p;
    importer *r;
    uint32_t next;
} source;

static bool same_text(const importer *a, uint32_t i, const importer *b, uint32_t k)
{
    return str_eq(a->m->dict.strings.v[i], b->m->dict.strings.v[k]);
}

/* Returns whether y contains every attribute of x, by value. */
static bool attrs_within(const importer *a, span x, const importer *b, span y)
{
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

/* Compares profile attributes as sets: order and repeats are ignored. */
static bool same_attrs(const importer *a, span x, const importer *b, span y)
{
    return attrs_within(a, x, b, y) && attrs_within(b, y, a, x);
}

/* Returns whether profile p joins target t. Profiles with an original payload are never joined,
 * because it belongs to one recording. */
static bool joins(const target *t, const profile *p, const importer *r)
{
    const profile *q = t->first;
    const importer *o = t->first_of;
    return !p->original_payload.n && !q->original_payload.n && p->period == q->period &&
           same_text(r, p->sample_type.type, o, q->sample_type.type) &&
           same_text(r, p->sample_type.unit, o, q->sample_type.unit) &&
           same_text(r, p->period_type.type, o, q->period_type.type) &&
           same_text(r, p->period_type.unit, o, q->period_type.unit) &&
           same_attrs(r, p->attrs, o, q->attrs);
}

/* The samples of a joined profile: chains of equal input samples. */
typedef struct group {
    uint32_t stack, link, attr_at, n_attrs;
    uint32_t first, last; /* chain through member.next, index + 1 */
    bool times_only, values_only;
} group;

typedef struct member {
    const importer *r;
    const profile *p;
    uint32_t sample, next;
} member;

/* Puts the attributes of a sample into scratch, sorted and without repeats. */
static bool map_attr_set(importer *r, const sample *s)
{
    if (!importer_attrs(r, s->attrs, s->n_attrs)) return false;
    uint32_t *v = r->scratch.v;
    if (r->scratch.n > 1) qsort(v, r->scratch.n, sizeof *v, merge_by_number);
    size_t k = 0;
    for (size_t i = 0; i < r->scratch.n; i++)
        if (v[i] && (k == 0 || v[k - 1] != v[i])) v[k++] = v[i];
    r->scratch.n = k;
    return true;
}

typedef struct groups {
    VEC(group) v;
    VEC(member) members;
    u32s attrs;
    hash_index index;
} groups;

static bool add_to_group(merger *x, groups *g, importer *r, const profile *p, size_t i)
{
    sample s = sample_at(r->m, p, i);
    if (!map_attr_set(r, &s) || !hash_index_room(&g->index, x->a)) return false;
    uint32_t stack = importer_stack(r, s.stack), link = importer_link(r, s.link);
    /* importer_stack may have overwritten the scratch list: import the set again (it is cached). */
    if (!map_attr_set(r, &s)) return false;
    size_t n = r->scratch.n;
    uint64_t h = hash_bytes(r->scratch.v, n * sizeof(uint32_t),
                            hash_mix(x->b.seed, (uint64_t)stack << 32 | link));
    uint32_t at = 0, slot = hash_first(&g->index, h);
    group *to = NULL;
    for (; hash_next(&g->index, &slot, h, &at); slot++) {
        group *c = &g->v.v[at];
        if (c->stack == stack && c->link == link && c->n_attrs == n &&
            (n == 0 || !memcmp(g->attrs.v + c->attr_at, r->scratch.v, n * sizeof(uint32_t)))) {
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
        if (n) memcpy(g->attrs.v + g->attrs.n, r->scratch.v, n * sizeof(uint32_t));
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

/* Writes the joined sample of a group. Samples with values only become one total; otherwise
 * observations are appended. Where the shapes of a group differ, a timestamp without a value counts
 * 1, and all timestamps are removed if some values have none. */
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

/* Extends the window of q to contain the window of p. */
static void widen(profile *q, const profile *p)
{
    if (!p->time_unix_nano) return;
    uint64_t end = q->time_unix_nano + q->duration_nano,
             other = p->time_unix_nano + p->duration_nano;
    if (!q->time_unix_nano || p->time_unix_nano < q->time_unix_nano)
        q->time_unix_nano = p->time_unix_nano;
    q->duration_nano = (end > other ? end : other) - q->time_unix_nano;
}

/* Records that a joined profile loses the ids of its sources. */
static void lose_ids(merger *x, const target *t, const source *sources)
{
    char hex[33];
    for (uint32_t k = t->next; k; k = sources[k - 1].next) {
        const uint8_t *id = sources[k - 1].p->profile_id;
        if (id_is_zero(id, 16)) continue;
        hex_encode(id, 16, hex);
        ledger_add(x->o.ledger, STAGE_MERGE, LOSS_PROFILE_ID, NULL, "profiles[].profile_id",
                   str_of(hex));
    }
}

static bool join_profile(merger *x, const target *t, const source *sources)
{
    groups g = {0};
    i64s values = {0};
    u64s times = {0};
    importer_profile_head(t->first_of, t->first);
    if (x->b.failed) return false;
    profile *q = &x->b.m.profiles.v[x->b.m.profiles.n - 1];
    if (sources[t->next - 1].next) {
        memset(q->profile_id, 0, sizeof q->profile_id);
        lose_ids(x, t, sources);
    }
    for (uint32_t k = t->next; k; k = sources[k - 1].next) {
        const source *s = &sources[k - 1];
        if (s->p != t->first) {
            widen(q, s->p);
            q->dropped_attributes_count += s->p->dropped_attributes_count;
        }
        for (size_t i = 0; i < s->p->n_samples; i++)
            if (!add_to_group(x, &g, s->r, s->p, i)) return false;
    }
    for (size_t i = 0; i < g.v.n; i++)
        if (!put_group(x, &g, &g.v.v[i], &values, &times)) return false;
    return true;
}

/* ---- finding equal profiles ---- */

static uint64_t hash_keyvalues(const keyvalues *k, uint64_t h)
{
    return builder_hash_any(&(any){.kind = ANY_KVLIST, .n = (uint32_t)k->n, .kvlist = k->v}, h);
}

/* The distinct resources, scopes and profiles of all inputs, in order of first use.  The scopes
 * of a resource and the profiles of a scope form chains, so each envelope is looked up once. */
typedef struct place {
    const resource *resource; /* set for a resource or a scope */
    const scope *scope;       /* set for a scope */
    uint32_t first, last;     /* chain of the inner entries: index + 1 */
    uint32_t next;            /* in the chain of the outer entry */
    uint32_t outer;
} place;

typedef VEC(place) places;

typedef struct joiner {
    merger *x;
    places resources, scopes;
    VEC(target) targets;
    VEC(source) sources;
    hash_index by_resource, by_scope, by_target;
} joiner;

static uint32_t find_resource(joiner *j, const resource *r)
{
    if (!hash_index_room(&j->by_resource, j->x->a)) return UINT32_MAX;
    uint64_t h = hash_bytes(r->schema_url.p, r->schema_url.n, j->by_resource.seed);
    h = hash_keyvalues(&r->attrs, h);
    uint32_t slot = hash_first(&j->by_resource, h), at;
    for (; hash_next(&j->by_resource, &slot, h, &at); slot++)
        if (resource_equal(j->resources.v[at].resource, r)) return at;
    place *p = vec_push(j->x->a, &j->resources);
    if (!p) return UINT32_MAX;
    p->resource = r;
    hash_put(&j->by_resource, slot, h, (uint32_t)(j->resources.n - 1));
    return (uint32_t)(j->resources.n - 1);
}

/* Appends `index` to the chain of `outer`; the caller stores the result in `next`. */
static void chain(place *outer, uint32_t index, uint32_t *next_of_last)
{
    if (outer->last)
        *next_of_last = index + 1;
    else
        outer->first = index + 1;
    outer->last = index + 1;
}

static uint32_t find_scope(joiner *j, uint32_t resource_i, const scope *s)
{
    if (!hash_index_room(&j->by_scope, j->x->a)) return UINT32_MAX;
    uint64_t h = hash_bytes(s->name.p, s->name.n, hash_mix(j->by_scope.seed, resource_i));
    h = hash_keyvalues(&s->attrs, h);
    uint32_t slot = hash_first(&j->by_scope, h), at;
    for (; hash_next(&j->by_scope, &slot, h, &at); slot++)
        if (j->scopes.v[at].outer == resource_i && scope_equal(j->scopes.v[at].scope, s)) return at;
    place *p = vec_push(j->x->a, &j->scopes);
    if (!p) return UINT32_MAX;
    p->scope = s;
    p->outer = resource_i;
    uint32_t index = (uint32_t)(j->scopes.n - 1);
    place *r = &j->resources.v[resource_i];
    chain(r, index, r->last ? &j->scopes.v[r->last - 1].next : NULL);
    hash_put(&j->by_scope, slot, h, index);
    return index;
}

static uint32_t find_target(joiner *j, uint32_t scope_i, const profile *p, importer *r)
{
    const dict *d = &r->m->dict;
    str type = d->strings.v[p->sample_type.type], unit = d->strings.v[p->sample_type.unit];
    uint64_t h =
        hash_bytes(type.p, type.n, hash_bytes(unit.p, unit.n, hash_mix(j->x->b.seed, scope_i)));
    h = hash_mix(h, (uint64_t)p->period);
    if (p->original_payload.n)
        h = hash_mix(h, j->targets.n); /* never joined, so it is not added to a chain */
    if (!hash_index_room(&j->by_target, j->x->a)) return UINT32_MAX;
    uint32_t slot = hash_first(&j->by_target, h), at;
    for (; hash_next(&j->by_target, &slot, h, &at); slot++)
        if (j->targets.v[at].scope == scope_i && joins(&j->targets.v[at], p, r)) return at;
    target *t = vec_push(j->x->a, &j->targets);
    if (!t) return UINT32_MAX;
    *t = (target){.scope = scope_i, .first = p, .first_of = r};
    uint32_t index = (uint32_t)(j->targets.n - 1);
    place *s = &j->scopes.v[scope_i];
    chain(s, index, s->last ? &j->targets.v[s->last - 1].next_target : NULL);
    hash_put(&j->by_target, slot, h, index);
    return index;
}

static bool add_source(joiner *j, const profile *p, importer *r)
{
    const scope *sc = &r->m->scopes.v[p->scope];
    uint32_t resource_i = find_resource(j, &r->m->resources.v[sc->resource]);
    uint32_t scope_i = resource_i == UINT32_MAX ? UINT32_MAX : find_scope(j, resource_i, sc);
    uint32_t target_i = scope_i == UINT32_MAX ? UINT32_MAX : find_target(j, scope_i, p, r);
    source *s = target_i == UINT32_MAX ? NULL : vec_push(j->x->a, &j->sources);
    if (!s) return false;
    *s = (source){p, r, 0};
    target *t = &j->targets.v[target_i];
    if (t->last)
        j->sources.v[t->last - 1].next = (uint32_t)j->sources.n;
    else
        t->next = (uint32_t)j->sources.n;
    t->last = (uint32_t)j->sources.n;
    return true;
}

bool merge_joined(merger *x)
{
    joiner j = {.x = x};
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->in[i].m->profiles.n; k++)
            if (!add_source(&j, &x->in[i].m->profiles.v[k], &x->in[i])) return false;
    for (size_t i = 0; i < j.resources.n; i++) {
        builder_resource(&x->b, j.resources.v[i].resource);
        for (uint32_t s = j.resources.v[i].first; s; s = j.scopes.v[s - 1].next) {
            builder_scope(&x->b, j.scopes.v[s - 1].scope);
            for (uint32_t t = j.scopes.v[s - 1].first; t; t = j.targets.v[t - 1].next_target)
                if (!join_profile(x, &j.targets.v[t - 1], j.sources.v)) return false;
        }
    }
    return true;
}
