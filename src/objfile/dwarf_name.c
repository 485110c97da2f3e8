/* Reads DIEs and finds the function that each represents: its names, declaration line and enclosing
 * scope, across abstract origins and specifications, which may be in the file that dwz created. */
#include "objfile/dwarf.h"

#include "base/ban.h"

dwarf_die dwarf_read_die(const dwarf *d, const dwarf_unit *u, rd *r, const dwarf_abbrev *ab)
{
    dwarf_die out = {.tag = ab->tag};
    for (uint32_t i = 0; i < ab->n; i++) {
        const dwarf_attr *a = &d->attrs.v[ab->first + i];
        switch (a->name) {
        case AT_NAME: out.name = dwarf_read_form(u, r, a); break;
        case AT_LINKAGE_NAME:
        case AT_MIPS_LINKAGE_NAME: out.linkage_name = dwarf_read_form(u, r, a); break;
        case AT_LOW_PC: out.low_pc = dwarf_read_form(u, r, a); break;
        case AT_HIGH_PC: out.high_pc = dwarf_read_form(u, r, a); break;
        case AT_RANGES: out.ranges = dwarf_read_form(u, r, a); break;
        case AT_ABSTRACT_ORIGIN: out.origin = dwarf_read_form(u, r, a); break;
        case AT_SPECIFICATION: out.specification = dwarf_read_form(u, r, a); break;
        case AT_EXTERNAL: out.external = dwarf_read_form(u, r, a).u != 0; break;
        case AT_DECL_LINE: out.decl_line = dwarf_read_form(u, r, a).u; break;
        case AT_CALL_FILE: out.call_file = dwarf_read_form(u, r, a).u; break;
        case AT_CALL_LINE: out.call_line = dwarf_read_form(u, r, a).u; break;
        case AT_CALL_COLUMN: out.call_column = dwarf_read_form(u, r, a).u; break;
        default: dwarf_skip_form(u, r, a->form); break;
        }
    }
    return out;
}

typedef struct names {
    str linkage_name, name;
    uint64_t line;
    bool external;
} names;

/* Copies the attributes that are still unknown and sets *next to the DIE to continue with. Returns
 * false if there is none. */
static bool take(dwarf **d, const dwarf_unit *u, const dwarf_die *die, names *n, uint64_t *next)
{
    if (!n->linkage_name.n) n->linkage_name = dwarf_string(*d, u, &die->linkage_name);
    if (!n->name.n) n->name = dwarf_string(*d, u, &die->name);
    if (!n->line) n->line = die->decl_line;
    n->external |= die->external;
    if (n->linkage_name.n && n->name.n && n->line) return false;
    const dwarf_value *v = die->origin.form ? &die->origin : &die->specification;
    return dwarf_reference(*d, u, v, d, next);
}

bool dwarf_die_at(dwarf *d, uint64_t offset, dwarf_unit **u, dwarf_die *out)
{
    *u = dwarf_unit_at(d, offset);
    if (!*u) return false;
    rd r = rd_from((str){d->info.p, (size_t)(*u)->end}, offset, d->big);
    const dwarf_abbrev *ab = dwarf_abbrev_of(d, *u, rd_uleb(&r));
    if (!ab) return false;
    *out = dwarf_read_die(d, *u, &r, ab);
    out->at = offset;
    return !r.failed;
}

/* Finds the function of a DIE. GCC writes no linkage name for a function that other units cannot
 * reference; its scope is that of the DIE that declares it. An external function without a linkage
 * name has C linkage and no scope. */
static uint32_t resolve(dwarf *d, const dwarf_unit *u, const dwarf_die *die)
{
    names n = {0};
    dwarf *in = d, *declared = d;
    uint64_t next, at = die->at;
    bool more = take(&in, u, die, &n, &next);
    for (unsigned hops = 0; more && hops < DWARF_MAX_HOPS; hops++) {
        dwarf_unit *other_unit;
        dwarf_die other;
        if (!dwarf_die_at(in, next, &other_unit, &other)) break;
        declared = in;
        at = next;
        more = take(&in, other_unit, &other, &n, &next);
    }
    uint32_t line = n.line <= UINT32_MAX ? (uint32_t)n.line : 0;
    bool scoped = u->cxx && n.name.n && !n.linkage_name.n && !n.external;
    return index_function_of(d->b, n.linkage_name, scoped ? dwarf_scope(declared, at) : 0, n.name,
                             line);
}

/* Returns the function at an offset from a cache, because inlined functions occur many times. */
static uint32_t known(dwarf *d, const dwarf_unit *u, const dwarf_die *die, uint64_t offset)
{
    if (!hash_index_room(&d->by_die, d->b->a)) return d->b->failed = true, 0;
    uint64_t h = hash_mix(d->by_die.seed, offset);
    uint32_t i = hash_first(&d->by_die, h);
    for (uint32_t at; hash_next(&d->by_die, &i, h, &at); i++)
        if (d->known.v[at].offset == offset) return d->known.v[at].function;
    uint32_t function = resolve(d, u, die);
    dwarf_known *k = vec_push(d->b->a, &d->known);
    if (!k) return d->b->failed = true, 0;
    *k = (dwarf_known){offset, function};
    hash_put(&d->by_die, i, h, (uint32_t)(d->known.n - 1));
    return function;
}

uint32_t dwarf_function(dwarf *d, const dwarf_unit *u, const dwarf_die *die)
{
    dwarf *in;
    uint64_t offset;
    bool own = die->name.form || die->linkage_name.form || die->decl_line;
    if (!own && dwarf_reference(d, u, &die->origin, &in, &offset) && in == d)
        return known(d, u, die, offset);
    return resolve(d, u, die);
}
