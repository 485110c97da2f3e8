/* profcheck -check-orphans: counts references from any entry, used or not, but not string references of
 * resources, scopes and values. */
#include "check/profcheck.h"

#include "base/ban.h"

typedef struct marks {
    uint8_t *v;
    size_t n;
} marks;

static void mark(marks *m, int32_t i)
{
    if (!go_outside(i, m->n)) m->v[i] = 1;
}

typedef struct refs {
    marks strings, attributes, mappings, functions, locations, stacks, links;
} refs;

static bool open_marks(profcheck *j, marks *m, size_t n)
{
    m->v = arena_new(j->a, uint8_t, n + 1);
    m->n = n;
    if (!m->v) return !(j->limit = true);
    m->v[0] = 1;
    return true;
}

static bool mark_profile(profcheck *j, refs *r, const go_field *f)
{
    go_cur c = {f->data, f->data + f->value};
    go_profile p;
    if (!go_take_profile(j, c, &p)) return false;
    for (size_t i = 0; i < 4; i++) mark(&r->strings, p.types[i]);
    for (size_t i = 0; i < j->attrs.n; i++) mark(&r->attributes, j->attrs.v[i]);
    bool bad = false;
    for (go_field g; go_next(&c, &g, &bad);) {
        go_sample s;
        if (g.number != 2 || g.wire != 2) continue;
        if (!go_take_sample(j, &g, &s)) return false;
        mark(&r->stacks, s.stack);
        mark(&r->links, s.link);
        for (size_t i = 0; i < j->attrs.n; i++) mark(&r->attributes, j->attrs.v[i]);
    }
    return true;
}

/* Profiles are at resource_profiles / scope_profiles / profiles: fields 1, 2, 2. */
static bool mark_profiles(profcheck *j, refs *r, go_cur c, int depth)
{
    bool bad = false;
    for (go_field g; go_next(&c, &g, &bad);) {
        if (g.wire != 2 || g.number != (depth == 0 ? 1u : 2u)) continue;
        go_cur in = {g.data, g.data + g.value};
        if (!(depth == 2 ? mark_profile(j, r, &g) : mark_profiles(j, r, in, depth + 1)))
            return false;
    }
    return true;
}

static void mark_dictionary(const go_dict *d, refs *r)
{
    for (size_t i = 0; i < d->stacks.n; i++)
        for (size_t k = 0; k < d->stacks.v[i].n; k++)
            mark(&r->locations, d->refs.v[d->stacks.v[i].at + k]);
    for (size_t i = 0; i < d->locations.n; i++) {
        const go_location *l = &d->locations.v[i];
        mark(&r->mappings, l->mapping);
        for (size_t k = 0; k < l->attrs.n; k++) mark(&r->attributes, d->refs.v[l->attrs.at + k]);
        for (size_t k = 0; k < l->lines.n; k++)
            mark(&r->functions, d->lines.v[l->lines.at + k].function);
    }
    for (size_t i = 0; i < d->mappings.n; i++) {
        const go_mapping *m = &d->mappings.v[i];
        mark(&r->strings, m->filename);
        for (size_t k = 0; k < m->attrs.n; k++) mark(&r->attributes, d->refs.v[m->attrs.at + k]);
    }
    for (size_t i = 0; i < d->functions.n; i++) {
        mark(&r->strings, d->functions.v[i].name);
        mark(&r->strings, d->functions.v[i].system_name);
        mark(&r->strings, d->functions.v[i].filename);
    }
    for (size_t i = 0; i < d->attributes.n; i++) {
        mark(&r->strings, d->attributes.v[i].key);
        mark(&r->strings, d->attributes.v[i].unit);
    }
}

bool profcheck_orphans(profcheck *j, go_cur all)
{
    refs r;
    const go_dict *d = &j->d;
    if (!open_marks(j, &r.strings, d->strings.n) ||
        !open_marks(j, &r.attributes, d->attributes.n) ||
        !open_marks(j, &r.mappings, d->mappings.n) ||
        !open_marks(j, &r.functions, d->functions.n) ||
        !open_marks(j, &r.locations, d->locations.n) || !open_marks(j, &r.stacks, d->stacks.n) ||
        !open_marks(j, &r.links, d->links.n) || !mark_profiles(j, &r, all, 0))
        return false;
    mark_dictionary(d, &r);
    const struct {
        const char *name;
        const marks *m;
    } tables[] = {{"string_table", &r.strings},     {"attribute_table", &r.attributes},
                  {"mapping_table", &r.mappings},   {"function_table", &r.functions},
                  {"location_table", &r.locations}, {"stack_table", &r.stacks},
                  {"link_table", &r.links}};
    j->in = "dictionary: ";
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (size_t i = 0; i < tables[t].m->n; i++)
            if (!tables[t].m->v[i])
                profcheck_fails(j, "%s: unreferenced entry at index %zu", tables[t].name, i);
    return true;
}
