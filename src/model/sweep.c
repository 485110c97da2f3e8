/* Marks the used entries of each table, then moves them together and updates all references.
 * Tables are swept from the outside in, because a removed location may have held the last
 * reference to a function. */
#include "model/sweep.h"

#include "base/ban.h"

/* to[i] is the new position of entry i.  While entries are being marked, it is 1 for used
 * entries. */
typedef struct moves {
    uint32_t *to;
    size_t n, used;
} moves;

static bool moves_open(moves *v, size_t n, arena *work)
{
    *v = (moves){.to = arena_new(work, uint32_t, n + 1), .n = n};
    if (v->to) v->to[0] = 1;
    return v->to != NULL;
}

static void use(moves *v, uint32_t i) { v->to[i] = 1; }

/* Turns marks into positions.  Returns false when all entries stay. */
static bool settle(moves *v)
{
    v->used = 0;
    for (size_t i = 0; i < v->n; i++) v->to[i] = v->to[i] ? (uint32_t)v->used++ : 0;
    return v->used < v->n;
}

/* Returns whether entry i stays.  The position of a removed entry is 0. */
static bool stays(const moves *v, size_t i) { return !i || v->to[i]; }

/* ---- locations and functions ---- */

static void sweep_locations(dict *d, moves *v)
{
    for (size_t i = 0; i < d->frames.n; i++) use(v, d->frames.v[i]);
    if (!settle(v)) return;
    for (size_t i = 0; i < d->locations.n; i++)
        if (stays(v, i)) d->locations.v[v->to[i]] = d->locations.v[i];
    d->locations.n = v->used;
    for (size_t i = 0; i < d->frames.n; i++) d->frames.v[i] = v->to[d->frames.v[i]];
}

static void sweep_functions(dict *d, moves *v)
{
    for (size_t i = 0; i < d->locations.n; i++) {
        span s = d->locations.v[i].lines;
        for (uint32_t k = 0; k < s.n; k++) use(v, d->lines.v[s.at + k].function);
    }
    if (!settle(v)) return;
    for (size_t i = 0; i < d->functions.n; i++)
        if (stays(v, i)) d->functions.v[v->to[i]] = d->functions.v[i];
    d->functions.n = v->used;
    for (size_t i = 0; i < d->lines.n; i++) d->lines.v[i].function = v->to[d->lines.v[i].function];
}

/* ---- mappings ---- */

static void sweep_mappings(dict *d, uint32_t main, moves *v)
{
    if (main < v->n) use(v, main);
    for (size_t i = 0; i < d->locations.n; i++) use(v, d->locations.v[i].mapping);
    if (!settle(v)) return;
    for (size_t i = 0; i < d->mappings.n; i++)
        if (stays(v, i)) d->mappings.v[v->to[i]] = d->mappings.v[i];
    d->mappings.n = v->used;
    for (size_t i = 0; i < d->locations.n; i++)
        d->locations.v[i].mapping = v->to[d->locations.v[i].mapping];
}

/* ---- attributes ---- */

static void use_list(moves *v, const dict *d, span s)
{
    for (uint32_t i = 0; i < s.n; i++) use(v, d->attr_refs.v[s.at + i]);
}

static void sweep_attributes(model *m, moves *v)
{
    dict *d = &m->dict;
    for (size_t i = 0; i < m->sample_attrs.n; i++) use(v, m->sample_attrs.v[i]);
    for (size_t i = 0; i < d->mappings.n; i++) use_list(v, d, d->mappings.v[i].attrs);
    for (size_t i = 0; i < d->locations.n; i++) use_list(v, d, d->locations.v[i].attrs);
    for (size_t i = 0; i < m->profiles.n; i++) use_list(v, d, m->profiles.v[i].attrs);
    if (!settle(v)) return;
    for (size_t i = 0; i < d->attributes.n; i++)
        if (stays(v, i)) d->attributes.v[v->to[i]] = d->attributes.v[i];
    d->attributes.n = v->used;
    for (size_t i = 0; i < m->sample_attrs.n; i++)
        m->sample_attrs.v[i] = v->to[m->sample_attrs.v[i]];
    for (size_t i = 0; i < d->attr_refs.n; i++) d->attr_refs.v[i] = v->to[d->attr_refs.v[i]];
}

/* ---- strings ---- */

/* Calls `each` for every reference to a string. */
static void each_string(model *m, void (*each)(moves *, uint32_t *), moves *v)
{
    dict *d = &m->dict;
    for (size_t i = 0; i < d->functions.n; i++) {
        function *f = &d->functions.v[i];
        each(v, &f->name), each(v, &f->system_name), each(v, &f->filename);
    }
    for (size_t i = 0; i < d->mappings.n; i++) each(v, &d->mappings.v[i].filename);
    for (size_t i = 0; i < d->attributes.n; i++)
        each(v, &d->attributes.v[i].key), each(v, &d->attributes.v[i].unit);
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        each(v, &p->sample_type.type), each(v, &p->sample_type.unit);
        each(v, &p->period_type.type), each(v, &p->period_type.unit);
    }
}

static void use_string(moves *v, uint32_t *at) { use(v, *at); }
static void move_string(moves *v, uint32_t *at) { *at = v->to[*at]; }

static void sweep_strings(model *m, moves *v)
{
    each_string(m, use_string, v);
    if (!settle(v)) return;
    dict *d = &m->dict;
    for (size_t i = 0; i < d->strings.n; i++)
        if (stays(v, i)) d->strings.v[v->to[i]] = d->strings.v[i];
    d->strings.n = v->used;
    each_string(m, move_string, v);
}

bool model_sweep(model *m, uint32_t main, arena *a, err *e)
{
    arena work = arena_beside(a);
    moves locations, functions, maps, attrs, strings;
    bool ok = moves_open(&locations, m->dict.locations.n, &work) &&
              moves_open(&functions, m->dict.functions.n, &work) &&
              moves_open(&maps, m->dict.mappings.n, &work) &&
              moves_open(&attrs, m->dict.attributes.n, &work) &&
              moves_open(&strings, m->dict.strings.n, &work);
    if (ok) {
        sweep_locations(&m->dict, &locations);
        sweep_functions(&m->dict, &functions);
        sweep_mappings(&m->dict, main, &maps);
        sweep_attributes(m, &attrs);
        sweep_strings(m, &strings);
    } else {
        arena_spent(a, e);
    }
    arena_free(&work);
    return ok;
}
