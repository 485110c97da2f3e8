/* Repairs a model: copies it, runs the two steps of fix.h on the copy, and reports the repairs. */
#include "check/fix.h"

#include "base/ban.h"
#include <inttypes.h>
#include <stdio.h>

const char *const fix_table_names[FIX_TABLES] = {
    "mapping_table", "location_table",  "function_table", "link_table",
    "string_table",  "attribute_table", "stack_table"};

/* ---- the report ---- */

void fix_at(fixer *x, fix_kind k, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(x->path[k], sizeof x->path[k], fmt, ap);
    va_end(ap);
}

void fix_at_profile(fixer *x, fix_kind k, size_t profile_i, const char *fmt, ...)
{
    const profile *p = &x->in->profiles.v[profile_i];
    const scope *s = &x->in->scopes.v[p->scope];
    const resource *r = &x->in->resources.v[s->resource];
    int n = snprintf(x->path[k], sizeof x->path[k],
                     "resource_profiles[%u].scope_profiles[%u].profiles[%zu]", s->resource,
                     p->scope - r->first_scope, profile_i - s->first_profile);
    size_t at_end = n < 0 ? 0 : (size_t)n;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(x->path[k] + at_end, sizeof x->path[k] - at_end, fmt, ap);
    va_end(ap);
}

void fix_at_list(fixer *x, fix_kind k, owner w, size_t position)
{
    size_t i = w.i;
    if (w.kind == OWNER_MAPPING) i -= x->shift[FIX_MAPPINGS];
    if (w.kind == OWNER_LOCATION) i -= x->shift[FIX_LOCATIONS];
    switch (w.kind) {
    case OWNER_MAPPING:
        fix_at(x, k, "dictionary.mapping_table[%zu].attribute_indices[%zu]", i, position);
        break;
    case OWNER_LOCATION:
        fix_at(x, k, "dictionary.location_table[%zu].attribute_indices[%zu]", i, position);
        break;
    case OWNER_PROFILE: fix_at_profile(x, k, i, ".attribute_indices[%zu]", position); break;
    case OWNER_SAMPLE:
        fix_at_profile(x, k, i, ".samples[%zu].attribute_indices[%zu]", w.j, position);
        break;
    }
}

static void fill_report(const fixer *x, fix_report *r)
{
    static const struct {
        const char *rule, *text;
    } kinds[FIX_KIND_COUNT] = {
#define X(id, rule, text) {rule, text},
        FIX_ACTIONS(X)
#undef X
    };
    *r = (fix_report){0};
    for (size_t k = 0; k < FIX_KIND_COUNT; k++) {
        if (!x->count[k]) continue;
        fix_action *to = &r->v[r->n++];
        *to = (fix_action){.rule = kinds[k].rule, .action = kinds[k].text, .count = x->count[k]};
        memcpy(to->path, x->path[k], sizeof to->path);
    }
}

/* ---- the copy ---- */

/* The path of a value; used only for the first repair of a kind. */
typedef struct value_place {
    const char *list; /* "dictionary.attribute_table" and so on */
    size_t i;
} value_place;

static void bad_ref(fixer *x, const value_place *w)
{
    if (fix_count(x, FIX_INDEX_RANGE)) fix_at(x, FIX_INDEX_RANGE, "%s[%zu].value", w->list, w->i);
}

static bool copy_pairs(fixer *x, const keyvalue *from, size_t n, keyvalue **to, value_place *w);

static bool copy_value(fixer *x, const any *from, any *to, value_place *w)
{
    const dict *d = &x->in->dict;
    *to = *from;
    if (from->kind == ANY_STRREF) {
        bool inside = from->i >= 0 && (uint64_t)from->i < d->strings.n;
        str s = inside ? d->strings.v[from->i] : (str){"", 0};
        if (!inside && from->i) bad_ref(x, w);
        *to = (any){.kind = ANY_STRING, .n = (uint32_t)s.n, .s = s.p};
    } else if (from->kind == ANY_ARRAY) {
        any *v = arena_new(x->a, any, from->n);
        if (!v) return false;
        for (uint32_t i = 0; i < from->n; i++)
            if (!copy_value(x, &from->array[i], &v[i], w)) return false;
        to->array = v;
    } else if (from->kind == ANY_KVLIST) {
        return copy_pairs(x, from->kvlist, from->n, &to->kvlist, w);
    }
    return true;
}

static bool copy_pairs(fixer *x, const keyvalue *from, size_t n, keyvalue **to, value_place *w)
{
    const dict *d = &x->in->dict;
    keyvalue *v = arena_new(x->a, keyvalue, n);
    if (!v) return false;
    for (size_t i = 0; i < n; i++) {
        v[i].key = from[i].key;
        if (from[i].key_ref && from[i].key.n) {
            if (fix_count(x, FIX_KEY_TWICE)) fix_at(x, FIX_KEY_TWICE, "%s[%zu]", w->list, w->i);
        } else if (from[i].key_ref) {
            v[i].key = dict_str(d, from[i].key_ref);
            if (from[i].key_ref >= d->strings.n) bad_ref(x, w);
        }
        if (!copy_value(x, &from[i].value, &v[i].value, w)) return false;
    }
    *to = v;
    return true;
}

/* Copies the attributes of a resource or scope; paths begin with the pair. */
static bool copy_attrs(fixer *x, keyvalues *kv, const char *list)
{
    const keyvalue *from = kv->v;
    keyvalue *v = arena_new(x->a, keyvalue, kv->n);
    if (!v) return false;
    for (size_t i = 0; i < kv->n; i++) {
        value_place w = {list, i};
        keyvalue *one;
        if (!copy_pairs(x, &from[i], 1, &one, &w)) return false;
        v[i] = *one;
    }
    kv->v = v;
    return true;
}

static bool copy_envelope(fixer *x)
{
    model *m = x->m;
    char list[128];
    for (size_t i = 0; i < m->resources.n; i++) {
        snprintf(list, sizeof list, "resource_profiles[%zu].resource.attributes", i);
        if (!copy_attrs(x, &m->resources.v[i].attrs, list)) return false;
    }
    for (size_t i = 0; i < m->scopes.n; i++) {
        const scope *s = &m->scopes.v[i];
        snprintf(list, sizeof list, "resource_profiles[%u].scope_profiles[%zu].scope.attributes",
                 s->resource, i - m->resources.v[s->resource].first_scope);
        if (!copy_attrs(x, &m->scopes.v[i].attrs, list)) return false;
    }
    for (size_t i = 0; i < m->dict.attributes.n; i++) {
        value_place w = {"dictionary.attribute_table", i};
        if (!copy_value(x, &x->in->dict.attributes.v[i].value, &m->dict.attributes.v[i].value, &w))
            return false;
    }
    return true;
}

/* Copies n entries with room for `room` more. Returns NULL without memory. */
static void *copy_array(arena *a, const void *p, size_t n, size_t room, size_t size)
{
    void *to = arena_array(a, n + room, size);
    return to && n ? memcpy(to, p, n * size) : to;
}

enum { ENTRY_ROOM = 2 }; /* for entry 0; stacks need one more offset */

#define COPY_TABLE(x, vec)                                                                         \
    ((x)->m->vec.cap = (x)->in->vec.n + ENTRY_ROOM,                                                \
     (x)->m->vec.v =                                                                               \
         copy_array((x)->a, (x)->in->vec.v, (x)->in->vec.n, ENTRY_ROOM, sizeof *(x)->in->vec.v),   \
     (x)->m->vec.v != NULL)

/* Gives every entry a separate list, because readers may let equal lists share memory, and the next
 * steps write in place. */
static bool own_refs(fixer *x, u32s *to, span *s)
{
    uint32_t at_end = (uint32_t)to->n;
    if (!vec_reserve(x->a, to, s->n)) return false;
    if (s->n) memcpy(to->v + to->n, x->in->dict.attr_refs.v + s->at, s->n * sizeof *to->v);
    to->n += s->n;
    s->at = at_end;
    return true;
}

static bool own_lists(fixer *x)
{
    dict *d = &x->m->dict;
    u32s refs = {0};
    d->lines.v = NULL, d->lines.n = d->lines.cap = 0;
    for (size_t i = 0; i < d->mappings.n; i++)
        if (!own_refs(x, &refs, &d->mappings.v[i].attrs)) return false;
    for (size_t i = 0; i < d->locations.n; i++) {
        span *s = &d->locations.v[i].lines;
        if (!own_refs(x, &refs, &d->locations.v[i].attrs)) return false;
        if (!vec_reserve(x->a, &d->lines, s->n)) return false;
        if (s->n) memcpy(d->lines.v + d->lines.n, x->in->dict.lines.v + s->at, s->n * sizeof(line));
        s->at = (uint32_t)d->lines.n;
        d->lines.n += s->n;
    }
    for (size_t i = 0; i < x->m->profiles.n; i++)
        if (!own_refs(x, &refs, &x->m->profiles.v[i].attrs)) return false;
    d->attr_refs = refs;
    return true;
}

static bool copy_columns(fixer *x)
{
    for (size_t i = 0; i < x->m->profiles.n; i++) {
        profile *p = &x->m->profiles.v[i];
        p->stack = copy_array(x->a, p->stack, p->n_samples, 0, sizeof *p->stack);
        if (!p->stack) return false;
        if (p->link && !(p->link = copy_array(x->a, p->link, p->n_samples, 0, sizeof *p->link)))
            return false;
    }
    return true;
}

static bool copy_model(fixer *x)
{
    *x->m = *x->in;
    return COPY_TABLE(x, dict.strings) && COPY_TABLE(x, dict.mappings) &&
           COPY_TABLE(x, dict.locations) && COPY_TABLE(x, dict.functions) &&
           COPY_TABLE(x, dict.links) && COPY_TABLE(x, dict.attributes) &&
           COPY_TABLE(x, dict.stacks) && COPY_TABLE(x, dict.frames) && COPY_TABLE(x, resources) &&
           COPY_TABLE(x, scopes) && COPY_TABLE(x, profiles) && copy_columns(x) && own_lists(x) &&
           copy_envelope(x);
}

/* ---- lists of attributes ---- */

static bool shrink_samples(fixer *x, size_t pi, u32s *pool, fix_list_fn *map)
{
    profile *p = &x->m->profiles.v[pi];
    if (!p->attr_span.off && !p->attr_span.stride) return true;
    uint32_t *off = arena_array(x->a, p->n_samples + 1, sizeof *off);
    if (!off) return false;
    for (size_t i = 0; i < p->n_samples; i++) {
        span s = spans_at(&p->attr_span, i);
        off[i] = (uint32_t)pool->n;
        if (!vec_reserve(x->a, pool, s.n)) return false;
        if (s.n) memcpy(pool->v + pool->n, x->m->sample_attrs.v + s.at, s.n * sizeof *pool->v);
        if (s.n) pool->n += map(x, pool->v + pool->n, s.n, (owner){OWNER_SAMPLE, pi, i});
    }
    off[p->n_samples] = (uint32_t)pool->n;
    p->attr_span = (spans){.off = off};
    return true;
}

static void shrink(fixer *x, span *s, fix_list_fn *map, owner w)
{
    if (s->n) s->n = (uint32_t)map(x, x->m->dict.attr_refs.v + s->at, s->n, w);
}

bool fix_lists(fixer *x, fix_list_fn *map)
{
    dict *d = &x->m->dict;
    u32s pool = {0};
    for (size_t i = 0; i < d->mappings.n; i++)
        shrink(x, &d->mappings.v[i].attrs, map, (owner){OWNER_MAPPING, i, 0});
    for (size_t i = 0; i < d->locations.n; i++)
        shrink(x, &d->locations.v[i].attrs, map, (owner){OWNER_LOCATION, i, 0});
    if (!vec_reserve(x->a, &pool, x->m->sample_attrs.n)) return false;
    for (size_t i = 0; i < x->m->profiles.n; i++) {
        shrink(x, &x->m->profiles.v[i].attrs, map, (owner){OWNER_PROFILE, i, 0});
        if (!shrink_samples(x, i, &pool, map)) return false;
    }
    memcpy(&x->m->sample_attrs, &pool, sizeof pool);
    return true;
}

bool check_fix(const model *in, arena *a, model *out, fix_report *r, err *e)
{
    fixer *x = arena_new(a, fixer, 1);
    *out = (model){0};
    *r = (fix_report){0};
    if (x) *x = (fixer){.in = in, .m = out, .a = a};
    if (!x || !copy_model(x) || !fix_refs(x) || !fix_tidy(x)) {
        *out = (model){0};
        return err_memory(e);
    }
    out->checked = true;
    out->seed = a->seed;
    out->n_unknown = 0;
    fill_report(x, r);
    return true;
}
