/* Removes duplicates and orphans from a checked model.  Entries keep their order; the first of equal
 * entries stays. */
#include "check/fix.h"

#include "base/ban.h"

/* Returns whether string references used this string. They are text now: no repair. */
static bool inlined(const fixer *x, fix_table t, size_t i)
{
    return t == FIX_STRINGS && i >= x->shift[t] && x->used_strings[i - x->shift[t]];
}

/* Computes the new index of each entry that stays and counts the others. */
static bool renumber(fixer *x, fix_table t, size_t n, const uint32_t *same, const uint8_t *reached,
                     uint32_t **out)
{
    uint32_t *map = arena_array(x->a, n, sizeof *map), next = 0;
    if (!map) return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t first = same ? same[i] : (uint32_t)i;
        if (first != i) {
            map[i] = map[first];
            if (fix_count(x, FIX_DUPLICATE))
                fix_at(x, FIX_DUPLICATE, "dictionary.%s[%zu]", fix_table_names[t], i - x->shift[t]);
        } else if (reached[i]) {
            map[i] = next++;
        } else {
            map[i] = UINT32_MAX;
            if (!inlined(x, t, i) && fix_count(x, FIX_ORPHAN))
                fix_at(x, FIX_ORPHAN, "dictionary.%s[%zu]", fix_table_names[t], i - x->shift[t]);
        }
    }
    *out = map;
    return true;
}

static bool renumber_all(fixer *x, const canon *c, const reach *r)
{
    const dict *d = &x->m->dict;
    uint32_t **m = x->map;
    return renumber(x, FIX_MAPPINGS, d->mappings.n, c->mappings, r->mappings, &m[FIX_MAPPINGS]) &&
           renumber(x, FIX_LOCATIONS, d->locations.n, c->locations, r->locations,
                    &m[FIX_LOCATIONS]) &&
           renumber(x, FIX_FUNCTIONS, d->functions.n, c->functions, r->functions,
                    &m[FIX_FUNCTIONS]) &&
           renumber(x, FIX_LINKS, d->links.n, c->links, r->links, &m[FIX_LINKS]) &&
           renumber(x, FIX_STRINGS, d->strings.n, c->strings, r->strings, &m[FIX_STRINGS]) &&
           renumber(x, FIX_ATTRIBUTES, d->attributes.n, c->attributes, r->attributes,
                    &m[FIX_ATTRIBUTES]) &&
           renumber(x, FIX_STACKS, dict_n_stacks(d), c->stacks, r->stacks, &m[FIX_STACKS]);
}

/* Moves the entries that stay to their new index. */
#define COMPACT(table, keep_i, entry, ...)                                                         \
    do {                                                                                           \
        size_t next_ = 0;                                                                          \
        for (size_t i = 0; i < (table).n; i++) {                                                   \
            if (!(keep_i)) continue;                                                               \
            (table).v[next_] = (table).v[i];                                                       \
            __typeof__((table).v) entry = &(table).v[next_++];                                     \
            (void)entry;                                                                           \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        (table).n = next_;                                                                         \
    } while (0)

static bool stays(const uint32_t *same, const uint8_t *reached, size_t i)
{
    return reached[i] && (!same || same[i] == i);
}

static void compact_stacks(dict *d, const canon *c, const reach *r, const uint32_t *locations)
{
    size_t n = dict_n_stacks(d), next = 0;
    uint32_t end = 0;
    for (size_t i = 0; i < n; i++) {
        span s = dict_stack(d, (uint32_t)i);
        if (!stays(c->stacks, r->stacks, i)) continue;
        d->stacks.v[next++] = end; /* next <= i and end <= s.at: nothing unread is overwritten */
        for (uint32_t k = 0; k < s.n; k++) d->frames.v[end++] = locations[d->frames.v[s.at + k]];
    }
    d->stacks.v[next] = end;
    d->stacks.n = next + 1;
    d->frames.n = end;
}

static void compact(fixer *x, const canon *c, const reach *r)
{
    dict *d = &x->m->dict;
    const uint32_t *string = x->map[FIX_STRINGS], *mapping_to = x->map[FIX_MAPPINGS],
                   *function_to = x->map[FIX_FUNCTIONS];
    COMPACT(d->mappings, stays(c->mappings, r->mappings, i), m, m->filename = string[m->filename]);
    COMPACT(d->functions, stays(c->functions, r->functions, i), f, f->name = string[f->name],
            f->system_name = string[f->system_name], f->filename = string[f->filename]);
    COMPACT(d->attributes, stays(c->attributes, r->attributes, i), a, a->key = string[a->key],
            a->unit = string[a->unit]);
    COMPACT(d->locations, stays(c->locations, r->locations, i), l, {
        l->mapping = mapping_to[l->mapping];
        for (uint32_t k = 0; k < l->lines.n; k++) {
            line *n = &d->lines.v[l->lines.at + k];
            n->function = function_to[n->function];
        }
    });
    COMPACT(d->links, stays(c->links, r->links, i), k, (void)0);
    COMPACT(d->strings, stays(c->strings, r->strings, i), s, (void)0);
    compact_stacks(d, c, r, x->map[FIX_LOCATIONS]);
}

static void remap_profiles(fixer *x)
{
    const uint32_t *string = x->map[FIX_STRINGS];
    for (size_t i = 0; i < x->m->profiles.n; i++) {
        profile *p = &x->m->profiles.v[i];
        p->sample_type.type = string[p->sample_type.type];
        p->sample_type.unit = string[p->sample_type.unit];
        p->period_type.type = string[p->period_type.type];
        p->period_type.unit = string[p->period_type.unit];
        uint32_t *stack = (uint32_t *)(uintptr_t)p->stack, *link = (uint32_t *)(uintptr_t)p->link;
        for (size_t k = 0; k < p->n_samples; k++) stack[k] = x->map[FIX_STACKS][stack[k]];
        for (size_t k = 0; link && k < p->n_samples; k++) link[k] = x->map[FIX_LINKS][link[k]];
    }
}

/* ---- lists: each attribute once ---- */

static size_t tidy_list(fixer *x, uint32_t *v, size_t n, owner w)
{
    if (w.kind == OWNER_MAPPING && !x->reach->mappings[w.i]) return n; /* the mapping is removed */
    if (w.kind == OWNER_LOCATION && !x->reach->locations[w.i]) return n;
    size_t left = 0;
    x->tick++;
    for (size_t i = 0; i < n; i++) {
        uint32_t first = x->canon->attributes ? x->canon->attributes[v[i]] : v[i];
        if (x->stamp[first] == x->tick) {
            if (fix_count(x, FIX_ATTRIBUTE_TWICE)) fix_at_list(x, FIX_ATTRIBUTE_TWICE, w, i);
            continue;
        }
        x->stamp[first] = x->tick;
        v[left++] = x->map[FIX_ATTRIBUTES][first];
    }
    return left;
}

/* ---- pools without unused elements ---- */

static void repack_span(const u32s *from, u32s *to, span *s)
{
    uint32_t at_end = (uint32_t)to->n;
    if (s->n) memcpy(to->v + to->n, from->v + s->at, s->n * sizeof *to->v);
    to->n += s->n;
    s->at = at_end;
}

static bool repack(fixer *x)
{
    dict *d = &x->m->dict, old = *d;
    u32s refs = {arena_array(x->a, old.attr_refs.n, sizeof *refs.v), 0, old.attr_refs.n};
    d->lines.v = arena_array(x->a, old.lines.n, sizeof *d->lines.v);
    d->lines.n = 0, d->lines.cap = old.lines.n;
    if (!refs.v || !d->lines.v) return false;
    for (size_t i = 0; i < d->mappings.n; i++)
        repack_span(&old.attr_refs, &refs, &d->mappings.v[i].attrs);
    for (size_t i = 0; i < d->locations.n; i++) {
        span *s = &d->locations.v[i].lines;
        repack_span(&old.attr_refs, &refs, &d->locations.v[i].attrs);
        if (s->n) memcpy(d->lines.v + d->lines.n, old.lines.v + s->at, s->n * sizeof(line));
        s->at = (uint32_t)d->lines.n;
        d->lines.n += s->n;
    }
    for (size_t i = 0; i < x->m->profiles.n; i++)
        repack_span(&old.attr_refs, &refs, &x->m->profiles.v[i].attrs);
    d->attr_refs = refs;
    return true;
}

bool fix_tidy(fixer *x)
{
    canon c;
    reach r, before;
    if (!reach_build(x->in, NULL, x->a, &before)) return false;
    x->used_strings = before.strings;
    x->stamp = arena_new(x->a, uint32_t, x->m->dict.attributes.n);
    if (!x->stamp || !canon_build(x->m, x->a, &c) || !reach_build(x->m, &c, x->a, &r) ||
        !renumber_all(x, &c, &r))
        return false;
    x->canon = &c, x->reach = &r;
    if (!fix_lists(x, tidy_list)) return false;
    compact(x, &c, &r);
    remap_profiles(x);
    x->canon = NULL, x->reach = NULL;
    return repack(x);
}
