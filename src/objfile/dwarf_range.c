/* Reads the code ranges of a DIE: a low and high address, or a range list (DWARF 5, section 2.17).
 * Lists of versions 2 to 4 and of version 5 have different formats. The total that is read is
 * limited by the size of the section. */
#include "objfile/dwarf.h"

#include "base/ban.h"

enum {
    RLE_END,
    RLE_BASEX,
    RLE_STARTX_ENDX,
    RLE_STARTX_LENGTH,
    RLE_OFFSET_PAIR,
    RLE_BASE,
    RLE_START_END,
    RLE_START_LENGTH
};

typedef struct ranges_for {
    dwarf *d;
    const dwarf_unit *u;
    uint32_t scope;
    bool any;
} ranges_for;

static bool add(ranges_for *x, uint64_t lo, uint64_t hi)
{
    index_builder *b = x->d->b;
    if (hi <= lo || !index_clip(b, lo, &hi)) return true;
    scope_range *r = vec_push(b->a, &b->ranges);
    if (!r) return err_memory(b->e);
    *r = (scope_range){lo, hi, x->scope};
    x->any = true;
    return true;
}

/* Returns false when too much was read: valid files do not reference lists many times over. */
static bool range_left(const dwarf *d)
{
    return d->range_bytes / DWARF_SLACK <= d->ranges.n + d->rnglists.n;
}

/* Reads a list of address pairs, which ends with 0, 0. A first word of all ones sets the base
 * address. */
static bool add_pairs(ranges_for *x, uint64_t at)
{
    const dwarf_unit *u = x->u;
    uint64_t base = u->low_pc, all = u->addr_size == 8 ? UINT64_MAX : UINT32_MAX;
    rd r = rd_from(x->d->ranges, at, x->d->big);
    for (;;) {
        uint64_t lo = rd_uint(&r, u->addr_size), hi = rd_uint(&r, u->addr_size);
        x->d->range_bytes += 2u * u->addr_size;
        if (r.failed || (!lo && !hi) || !range_left(x->d)) return true;
        if (lo == all)
            base = hi;
        else if (!add(x, base + lo, base + hi))
            return false;
    }
}

static uint64_t address_at(const ranges_for *x, rd *r)
{
    bool ok;
    uint64_t v =
        dwarf_indexed(x->d->addr, x->u->addr_base, rd_uleb(r), x->u->addr_size, x->d->big, &ok);
    if (!ok) rd_fail(r);
    return v;
}

static bool add_rnglist(ranges_for *x, uint64_t at)
{
    const dwarf_unit *u = x->u;
    uint64_t base = u->low_pc, lo, hi;
    rd r = rd_from(x->d->rnglists, at, x->d->big);
    for (const uint8_t *from = r.p;; from = r.p) {
        uint8_t kind = rd_u8(&r);
        lo = hi = 0;
        switch (kind) {
        case RLE_BASEX: base = address_at(x, &r); break;
        case RLE_BASE: base = rd_uint(&r, u->addr_size); break;
        case RLE_STARTX_ENDX: lo = address_at(x, &r), hi = address_at(x, &r); break;
        case RLE_STARTX_LENGTH: lo = address_at(x, &r), hi = lo + rd_uleb(&r); break;
        case RLE_OFFSET_PAIR: lo = base + rd_uleb(&r), hi = base + rd_uleb(&r); break;
        case RLE_START_END: lo = rd_uint(&r, u->addr_size), hi = rd_uint(&r, u->addr_size); break;
        case RLE_START_LENGTH: lo = rd_uint(&r, u->addr_size), hi = lo + rd_uleb(&r); break;
        default: return true; /* the end, or an unknown entry whose length is not known */
        }
        x->d->range_bytes += (uint64_t)(r.p - from);
        if (r.failed || !range_left(x->d)) return true;
        if (!add(x, lo, hi)) return false;
    }
}

static bool add_list(ranges_for *x, const dwarf_value *v)
{
    const dwarf_unit *u = x->u;
    bool ok;
    if (v->form == FORM_RNGLISTX) {
        uint64_t at =
            dwarf_indexed(x->d->rnglists, u->rnglists_base, v->u, u->off_size, x->d->big, &ok);
        return !ok || add_rnglist(x, u->rnglists_base + at);
    }
    return u->version >= 5 ? add_rnglist(x, v->u) : add_pairs(x, v->u);
}

bool dwarf_add_ranges(dwarf *d, const dwarf_unit *u, const dwarf_die *die, uint32_t scope,
                      bool *any)
{
    ranges_for x = {.d = d, .u = u, .scope = scope};
    uint64_t lo, hi;
    bool ok = true;
    if (dwarf_address(d, u, &die->low_pc, &lo) && die->high_pc.form) {
        hi = lo + die->high_pc.u; /* in this form it is a length */
        if (dwarf_is_address(&die->high_pc) && !dwarf_address(d, u, &die->high_pc, &hi)) hi = lo;
        ok = add(&x, lo, hi);
    } else if (die->ranges.form) {
        ok = add_list(&x, &die->ranges);
    }
    *any = x.any;
    return ok;
}
