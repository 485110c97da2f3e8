/* The tables of a day file with interning, for the writer. An entry gets the number of an equal
 * entry if there is one, and numbers never change. */
#include "store/tables.h"

#include "base/ban.h"

bool interner_init(interner *x, arena *a)
{
    *x = (interner){0};
    return tables_init(&x->t, a) && builder_init(&x->b, a);
}

const tables *interner_tables(interner *x)
{
    x->t.m.dict = x->b.m.dict;
    return &x->t;
}

uint32_t interner_list(interner *x, const uint32_t *attrs, size_t n)
{
    if (n == 0) return 0;
    arena *a = x->t.a;
    dict *d = &x->b.m.dict;
    if (!hash_index_room(&x->lists, a)) return x->b.failed = true, 0;
    uint64_t h = hash_bytes(attrs, n * sizeof *attrs, hash_mix(x->lists.seed, n));
    uint32_t i = hash_first(&x->lists, h);
    for (uint32_t at; hash_next(&x->lists, &i, h, &at); i++) {
        span s = x->t.lists.v[at];
        if (s.n == n && memcmp(d->attr_refs.v + s.at, attrs, n * sizeof *attrs) == 0) return at;
    }
    span *s = d->attr_refs.n <= UINT32_MAX - n && vec_reserve(a, &d->attr_refs, n)
                  ? vec_push(a, &x->t.lists)
                  : NULL;
    if (!s) return x->b.failed = true, 0;
    *s = (span){(uint32_t)d->attr_refs.n, (uint32_t)n};
    memcpy(d->attr_refs.v + d->attr_refs.n, attrs, n * sizeof *attrs);
    d->attr_refs.n += n;
    hash_put(&x->lists, i, h, (uint32_t)(x->t.lists.n - 1));
    return (uint32_t)(x->t.lists.n - 1);
}

/* ---- loading a file ---- */

static void load_dict(builder *b, const dict *d)
{
    for (size_t i = 1; i < d->strings.n; i++) builder_string(b, d->strings.v[i]);
    for (size_t i = 1; i < d->attributes.n; i++) {
        const attribute *t = &d->attributes.v[i];
        builder_attribute(b, d->strings.v[t->key], &t->value, d->strings.v[t->unit]);
    }
    for (size_t i = 1; i < d->mappings.n; i++)
        builder_mapping(b, &d->mappings.v[i], refs_at(&d->attr_refs, d->mappings.v[i].attrs),
                        d->mappings.v[i].attrs.n);
    for (size_t i = 1; i < d->functions.n; i++) builder_function(b, &d->functions.v[i]);
    for (size_t i = 1; i < d->locations.n; i++) {
        const location *l = &d->locations.v[i];
        builder_location(b, l->mapping, l->address, l->lines.n ? d->lines.v + l->lines.at : NULL,
                         l->lines.n, refs_at(&d->attr_refs, l->attrs), l->attrs.n);
    }
    for (size_t i = 1; i < dict_n_stacks(d); i++) {
        span s = dict_stack(d, (uint32_t)i);
        builder_stack(b, refs_at(&d->frames, s), s.n);
    }
}

bool interner_load(interner *x, const tables *from)
{
    load_dict(&x->b, &from->m.dict);
    for (size_t i = 1; i < from->lists.n; i++)
        interner_list(x, refs_at(&from->m.dict.attr_refs, from->lists.v[i]), from->lists.v[i].n);
    tables_size a = tables_count(from), b = tables_count(interner_tables(x));
    return !x->b.failed && memcmp(&a, &b, sizeof a) == 0;
}
