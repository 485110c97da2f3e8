/* Finds the profiles that count when a series of cumulative profiles or levels is added up. A
 * series is one type of one resource (and, for cumulative profiles, one start); resources are
 * compared by a hash of their text and integer attributes, in any order. */
#include "query/cumulative.h"

#include "query/internal.h"
#include "wire/carried.h"

#include "base/ban.h"

bool profile_is_cumulative(const model *m, const profile *p)
{
    const dict *d = &m->dict;
    for (uint32_t i = 0; i < p->attrs.n; i++) {
        const attribute *x = &d->attributes.v[refs_at(&d->attr_refs, p->attrs)[i]];
        if (x->value.kind == ANY_STRING &&
            str_eq(dict_str(d, x->key), STR(KILN_ATTR_AGGREGATION_TEMPORALITY)))
            return str_eq(any_str(&x->value), STR("cumulative"));
    }
    return false;
}

static const profile *profile_of(const model *const *m, const cumulative_ref *r)
{
    return &m[r->model]->profiles.v[r->profile];
}

static const resource *resource_of(const model *const *m, const cumulative_ref *r)
{
    const model *x = m[r->model];
    return &x->resources.v[x->scopes.v[profile_of(m, r)->scope].resource];
}

static str type_of(const model *const *m, const cumulative_ref *r)
{
    return dict_str(&m[r->model]->dict, profile_of(m, r)->sample_type.type);
}

/* Returns a hash of the text and integer attributes; equal resources have equal keys. */
static uint64_t resource_key(const resource *r)
{
    uint64_t h = 0;
    for (size_t i = 0; i < r->attrs.n; i++) {
        const keyvalue *kv = &r->attrs.v[i];
        uint64_t x = hash_bytes(kv->key.p, kv->key.n, 0);
        if (kv->value.kind == ANY_STRING) x = hash_mix(x, hash_bytes(kv->value.s, kv->value.n, 0));
        if (kv->value.kind == ANY_INT) x = hash_mix(x, (uint64_t)kv->value.i);
        h += x; /* independent of the order */
    }
    return h;
}

/* Returns 0 for the same series: the same type, resource and start. */
static int series_order(const model *const *m, const cumulative_ref *x, const cumulative_ref *y)
{
    int d = str_cmp(type_of(m, x), type_of(m, y));
    if (d) return d;
    uint64_t p = resource_key(resource_of(m, x)), q = resource_key(resource_of(m, y));
    if (p != q) return p < q ? -1 : 1;
    p = profile_of(m, x)->time_unix_nano, q = profile_of(m, y)->time_unix_nano;
    return (p > q) - (p < q);
}

static int time_order(const void *a, const void *b, void *models)
{
    const model *const *m = models;
    const cumulative_ref *x = a, *y = b;
    int d = series_order(m, x, y);
    if (d) return d;
    uint64_t p = profile_of(m, x)->duration_nano, q = profile_of(m, y)->duration_nano;
    if (p != q) return p < q ? -1 : 1;
    if (x->model != y->model) return x->model < y->model ? -1 : 1;
    return (x->profile > y->profile) - (x->profile < y->profile);
}

bool cumulative_find(const model *const *m, size_t n, arena *a, cumulative *out, err *e)
{
    VEC(cumulative_ref) found = {0};
    for (size_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < m[k]->profiles.n; i++) {
            if (!profile_is_cumulative(m[k], &m[k]->profiles.v[i])) continue;
            cumulative_ref *r = vec_push(a, &found);
            if (!r) return err_memory(e);
            *r = (cumulative_ref){.model = k, .profile = i, .before = -1};
        }
    *out = (cumulative){found.v, found.n};
    if (found.n > 1) qsort_r(found.v, found.n, sizeof *found.v, time_order, (void *)(uintptr_t)m);
    for (size_t i = 1; i < found.n; i++) {
        if (series_order(m, &found.v[i - 1], &found.v[i])) continue;
        found.v[i - 1].replaced = true;
        found.v[i].before = (int64_t)i - 1;
    }
    return true;
}

bool cumulative_empty_replaced(model *const *m, size_t n, arena *a, err *e)
{
    cumulative found;
    if (!cumulative_find((const model *const *)m, n, a, &found, e)) return false;
    for (size_t i = 0; i < found.n; i++) {
        const cumulative_ref *r = &found.v[i];
        profile *p = &m[r->model]->profiles.v[r->profile];
        if (r->replaced) p->n_samples = p->attrs.n = 0;
    }
    return true;
}

bool cumulative_keep_newest(model *m, arena *a, err *e)
{
    const model *one = m;
    cumulative found;
    bool *gone = arena_new(a, bool, m->profiles.n + 1);
    uint32_t n = 0;
    if (!gone) return err_memory(e);
    if (!cumulative_find(&one, 1, a, &found, e)) return false;
    for (size_t i = 0; i < found.n; i++) gone[found.v[i].profile] = found.v[i].replaced;
    for (size_t k = 0; k < m->scopes.n; k++) {
        scope *s = &m->scopes.v[k];
        uint32_t first = n;
        for (uint32_t i = s->first_profile; i < s->first_profile + s->n_profiles; i++)
            if (!gone[i]) m->profiles.v[n++] = m->profiles.v[i];
        s->first_profile = first;
        s->n_profiles = n - first;
    }
    m->profiles.n = n;
    return true;
}

/* ---- levels ---- */

typedef struct level {
    uint64_t resource;
    uint32_t type, unit, profile;
    uint64_t end;
} level;

static bool same_level(const level *x, const level *y)
{
    return x->resource == y->resource && x->type == y->type && x->unit == y->unit;
}

/* Orders by series, with the newest profile of each series last. */
static int level_order(const void *a, const void *b)
{
    const level *x = a, *y = b;
    if (x->resource != y->resource) return x->resource < y->resource ? -1 : 1;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    if (x->unit != y->unit) return x->unit < y->unit ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

bool levels_keep_newest(model *m, arena *a, err *e)
{
    VEC(level) all = {0};
    for (uint32_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        if (!profile_is_level(m, p)) continue;
        level *l = vec_push(a, &all);
        if (!l) return err_memory(e);
        *l = (level){.resource = resource_key(&m->resources.v[m->scopes.v[p->scope].resource]),
                     .type = p->sample_type.type,
                     .unit = p->sample_type.unit,
                     .profile = i,
                     .end = p->time_unix_nano + p->duration_nano};
    }
    if (all.n > 1) qsort(all.v, all.n, sizeof *all.v, level_order);
    uint64_t newest = 0;
    for (size_t i = all.n; i-- > 0;) {
        const level *l = &all.v[i];
        if (i + 1 == all.n || !same_level(l, l + 1)) newest = l->end;
        if (l->end != newest) m->profiles.v[l->profile].n_samples = 0;
    }
    return true;
}
