/* Adds up the results of symbol lookups: of each part of a profile, and of the merged one.
 *
 * The lookup in the merged profile sees only the addresses that the parts left without names.  Its
 * counts alone would describe these as all addresses.  A report is freed with its model, so the
 * texts are copied. */
#include "cli/run.h"

#include "base/ban.h"

static bool copy(run *r, str *s)
{
    char *p = arena_alloc(&r->arena, s->n);
    if (!p) return false;
    if (s->n) memcpy(p, s->p, s->n);
    s->p = p;
    return true;
}

/* A lookup adds the build id of the file to a mapping without one. */
static bool is_same(const symbolized *a, const symbolized *b)
{
    bool ids = !a->build_id.n || !b->build_id.n || str_eq(a->build_id, b->build_id);
    return ids && str_eq(a->name, b->name);
}

static symbolized *find(run *r, const symbolized *x)
{
    for (size_t i = 0; i < r->symbols.v.n; i++)
        if (is_same(&r->symbols.v.v[i], x)) return &r->symbols.v.v[i];
    return NULL;
}

static bool add_binary(run *r, const symbolized *x)
{
    symbolized s = *x;
    symbolized *to = vec_push(&r->arena, &r->symbols.v);
    if (!to || !copy(r, &s.name) || !copy(r, &s.build_id) || !copy(r, &s.path) ||
        !copy(r, &s.debug_path))
        return false;
    *to = s;
    return true;
}

/* Adds the addresses and samples of another part. */
static void add_part(symbolized *s, const symbolized *x)
{
    s->n_locations += x->n_locations;
    s->n_found += x->n_found;
    s->n_inlined += x->n_inlined;
    s->n_samples += x->n_samples;
    s->n_nameless += x->n_nameless;
}

/* Moves addresses that now have a name.  Those of several parts are one in the merged profile. */
static void add_late(symbolized *s, const symbolized *x)
{
    uint64_t left = s->n_locations - s->n_found, named = x->n_samples - x->n_nameless;
    s->n_found += x->n_found < left ? x->n_found : left;
    s->n_inlined += x->n_inlined;
    s->n_nameless -= named < s->n_nameless ? named : s->n_nameless;
    if (x->n_found) s->state = x->state;
}

bool run_add_symbols(run *r, const symbolize_report *x, bool merged, err *e)
{
    symbolize_report *all = &r->symbols;
    bool late = merged && all->v.n;
    for (size_t i = 0; i < x->v.n; i++) {
        symbolized *s = find(r, &x->v.v[i]);
        if (s && late)
            add_late(s, &x->v.v[i]);
        else if (s)
            add_part(s, &x->v.v[i]);
        else if (!add_binary(r, &x->v.v[i]))
            return err_memory(e);
    }
    all->n_found += x->n_found;
    if (late) return true;
    all->n_locations += x->n_locations;
    all->n_already += x->n_already;
    all->n_samples += x->n_samples;
    return true;
}
