/* Reads unit headers of .debug_info, abbreviation tables, and the attributes of each unit's first
 * DIE. Units share tables, which are read once. A broken unit is marked; the others stay usable. */
#include "objfile/dwarf.h"
#include "base/search.h"

#include "base/ban.h"

enum { UT_COMPILE = 1, UT_TYPE, UT_PARTIAL, UT_SKELETON, UT_SPLIT_COMPILE, UT_SPLIT_TYPE };

/* ---- headers ---- */

static bool read_unit(const dwarf *d, uint64_t at, dwarf_unit *u)
{
    rd r = rd_from(d->info, at, d->big);
    *u = (dwarf_unit){.at = at, .off_size = 4, .type = UT_COMPILE};
    uint64_t length = rd_u32(&r);
    if (length == 0xffffffff) length = rd_u64(&r), u->off_size = 8;
    if (r.failed || length > rd_left(&r)) return false;
    r.end = r.p + length;
    u->end = (uint64_t)(r.end - (const uint8_t *)d->info.p);
    u->version = rd_u16(&r);
    if (u->version >= 5) {
        u->type = rd_u8(&r);
        u->addr_size = rd_u8(&r);
        u->abbrev_offset = rd_uint(&r, u->off_size);
        if (u->type == UT_SKELETON || u->type == UT_SPLIT_COMPILE) rd_skip(&r, 8);
        if (u->type == UT_TYPE || u->type == UT_SPLIT_TYPE) rd_skip(&r, 8 + (uint64_t)u->off_size);
    } else {
        u->abbrev_offset = rd_uint(&r, u->off_size);
        u->addr_size = rd_u8(&r);
    }
    u->dies = (uint64_t)(r.p - (const uint8_t *)d->info.p);
    u->bad =
        r.failed || u->version < 2 || u->version > 5 || (u->addr_size != 8 && u->addr_size != 4);
    /* Split units have no such headers: their tables begin at fixed offsets. */
    u->str_base = u->version >= 5 ? (u->off_size == 8 ? 16 : 8) : 0;
    u->addr_base = u->version >= 5 ? (u->off_size == 8 ? 16 : 8) : 0;
    u->rnglists_base = u->version >= 5 ? (u->off_size == 8 ? 20 : 12) : 0;
    return true;
}

bool dwarf_find_units(dwarf *d)
{
    for (uint64_t at = 0; at < d->info.n;) {
        dwarf_unit u;
        if (!read_unit(d, at, &u)) {
            d->b->n_broken++;
            return true;
        }
        dwarf_unit *to = vec_push(d->b->a, &d->units);
        if (!to) return dwarf_no_memory(d);
        *to = u;
        d->b->n_broken += u.bad;
        at = u.end;
    }
    return true;
}

/* ---- abbreviations ---- */

static int by_code(const void *x, const void *y)
{
    const dwarf_abbrev *a = x, *b = y;
    return (a->code > b->code) - (a->code < b->code);
}

/* Reads the attributes of one abbreviation. Returns false only when the budget is used up; too many
 * attributes fail the cursor. */
static bool read_attrs(dwarf *d, rd *r, dwarf_abbrev *ab)
{
    ab->first = (uint32_t)d->attrs.n;
    for (;;) {
        uint64_t name = rd_uleb(r), form = rd_uleb(r);
        int64_t implicit = form == FORM_IMPLICIT_CONST ? rd_sleb(r) : 0;
        if (!name && !form) return true;
        if (ab->n == DWARF_MAX_ATTRS) rd_fail(r);
        if (r->failed) return true;
        dwarf_attr *x = vec_push(d->b->a, &d->attrs);
        if (!x || d->attrs.n >= UINT32_MAX) return dwarf_no_memory(d);
        uint16_t known = form <= UINT16_MAX ? (uint16_t)form : UINT16_MAX;
        *x = (dwarf_attr){name <= UINT16_MAX ? (uint16_t)name : 0, known, dwarf_form_size(known),
                          implicit};
        ab->located |= name == AT_LOW_PC || name == AT_RANGES;
        ab->n++;
    }
}

static bool read_abbrevs(dwarf *d, dwarf_abbrevs *t)
{
    rd r = rd_from(d->abbrev, t->offset, d->big);
    size_t left = rd_left(&r);
    bool sorted = true;
    t->first = d->abbrevs.n;
    while (!r.failed) {
        dwarf_abbrev ab = {.code = rd_uleb(&r)};
        if (!ab.code) break;
        uint64_t tag = rd_uleb(&r);
        ab.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
        ab.children = rd_u8(&r) != 0;
        if (!read_attrs(d, &r, &ab)) return false;
        dwarf_abbrev *x = vec_push(d->b->a, &d->abbrevs);
        if (!x) return dwarf_no_memory(d);
        *x = ab;
        t->n++;
        sorted &= t->n < 2 || x[-1].code < ab.code;
    }
    d->abbrev_bytes += left - rd_left(&r);
    t->bad = r.failed || d->abbrev_bytes / DWARF_SLACK > d->abbrev.n;
    if (!sorted) qsort(d->abbrevs.v + t->first, t->n, sizeof(dwarf_abbrev), by_code);
    return true;
}

static bool find_abbrevs(dwarf *d, dwarf_unit *u)
{
    if (!hash_index_room(&d->by_abbrev_offset, d->b->a)) return dwarf_no_memory(d);
    uint64_t h = hash_mix(d->by_abbrev_offset.seed, u->abbrev_offset);
    uint32_t i = hash_first(&d->by_abbrev_offset, h);
    for (uint32_t at; hash_next(&d->by_abbrev_offset, &i, h, &at); i++)
        if (d->tables.v[at].offset == u->abbrev_offset) {
            u->abbrevs = at + 1;
            u->bad |= d->tables.v[at].bad;
            return true;
        }
    dwarf_abbrevs *t = vec_push(d->b->a, &d->tables);
    if (!t) return dwarf_no_memory(d);
    t->offset = u->abbrev_offset;
    if (d->abbrev_bytes / DWARF_SLACK > d->abbrev.n)
        t->bad = true; /* tables overlap, which no valid file does */
    else if (!read_abbrevs(d, t))
        return false;
    hash_put(&d->by_abbrev_offset, i, h, (uint32_t)(d->tables.n - 1));
    u->abbrevs = (uint32_t)d->tables.n;
    u->bad |= t->bad;
    return true;
}

const dwarf_abbrev *dwarf_abbrev_of(const dwarf *d, const dwarf_unit *u, uint64_t code)
{
    const dwarf_abbrevs *t = &d->tables.v[u->abbrevs - 1];
    if (!t->n) return NULL;
    const dwarf_abbrev *v = d->abbrevs.v + t->first;
    if (code - 1 < t->n && v[code - 1].code == code) return &v[code - 1]; /* 1, 2, 3 ... */
    dwarf_abbrev key = {.code = code};
    return bsearch(&key, v, t->n, sizeof *v, by_code);
}

/* ---- the first DIE ---- */

typedef struct unit_values {
    dwarf_value low_pc, comp_dir;
} unit_values;

/* DWARF 5, table 7.17, and codes that were registered later. */
static bool is_cxx(uint64_t language)
{
    switch (language) {
    case 0x04: /* C++ */
    case 0x11: /* Objective-C++ */
    case 0x19: /* C++03 */
    case 0x1a: /* C++11 */
    case 0x21: /* C++14 */
    case 0x2b: /* C++17 */
    case 0x2c: /* C++20 */
    case 0x3a: /* C++23 */ return true;
    default: return false;
    }
}

static void take_unit_attr(dwarf_unit *u, uint16_t name, dwarf_value v, unit_values *out)
{
    switch (name) {
    case AT_LOW_PC: out->low_pc = v; break;
    case AT_COMP_DIR: out->comp_dir = v; break;
    case AT_STMT_LIST: u->stmt_list = v; break;
    case AT_LANGUAGE: u->cxx = is_cxx(v.u); break;
    case AT_STR_OFFSETS_BASE: u->str_base = v.u; break;
    case AT_GNU_ADDR_BASE:
    case AT_ADDR_BASE: u->addr_base = v.u; break;
    case AT_RNGLISTS_BASE: u->rnglists_base = v.u; break;
    case AT_GNU_DWO_NAME:
    case AT_DWO_NAME: u->split = true; break;
    default: break;
    }
}

bool dwarf_load_unit(dwarf *d, dwarf_unit *u)
{
    if (u->loaded || u->bad) return true;
    u->loaded = true;
    if (!find_abbrevs(d, u)) return false;
    if (u->bad) {
        d->b->n_broken++;
        return true;
    }
    rd r = rd_from((str){d->info.p, (size_t)u->end}, u->dies, d->big);
    const dwarf_abbrev *ab = dwarf_abbrev_of(d, u, rd_uleb(&r));
    unit_values v = {0};
    for (uint32_t i = 0; ab && i < ab->n; i++) {
        const dwarf_attr *a = &d->attrs.v[ab->first + i];
        take_unit_attr(u, a->name, dwarf_read_form(u, &r, a), &v);
    }
    if (!ab || r.failed) {
        u->bad = true;
        d->b->n_broken++;
        return true;
    }
    u->comp_dir = dwarf_string(d, u, &v.comp_dir);
    if (!dwarf_address(d, u, &v.low_pc, &u->low_pc)) u->low_pc = 0;
    return true;
}

dwarf_unit *dwarf_unit_at(dwarf *d, uint64_t offset)
{
    size_t from = SEARCH(0, d->units.n, i, d->units.v[i].end <= offset);
    if (from == d->units.n) return NULL;
    dwarf_unit *u = &d->units.v[from];
    if (offset < u->dies || !dwarf_load_unit(d, u) || u->bad) return NULL;
    return u;
}
