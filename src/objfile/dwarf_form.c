/* Reads attribute values: the size of each form, and its meaning as a number, a string or a
 * reference. An unknown form fails the cursor, since its length, and so everything after it, is
 * unknown. */
#include "objfile/dwarf.h"

#include "base/ban.h"

/* Returns the size of a form with a fixed size; -1 when the value contains its length, or the form
 * is not known. */
static int fixed_size(const dwarf_unit *u, uint16_t form)
{
    switch (form) {
    case FORM_FLAG_PRESENT:
    case FORM_IMPLICIT_CONST: return 0;
    case FORM_DATA1:
    case FORM_FLAG:
    case FORM_REF1:
    case FORM_STRX1:
    case FORM_ADDRX1: return 1;
    case FORM_DATA2:
    case FORM_REF2:
    case FORM_STRX2:
    case FORM_ADDRX2: return 2;
    case FORM_STRX3:
    case FORM_ADDRX3: return 3;
    case FORM_DATA4:
    case FORM_REF4:
    case FORM_REF_SUP4:
    case FORM_STRX4:
    case FORM_ADDRX4: return 4;
    case FORM_DATA8:
    case FORM_REF8:
    case FORM_REF_SIG8:
    case FORM_REF_SUP8: return 8;
    case FORM_DATA16: return 16;
    case FORM_ADDR: return u->addr_size;
    case FORM_REF_ADDR: return u->version <= 2 ? u->addr_size : u->off_size;
    case FORM_STRP:
    case FORM_LINE_STRP:
    case FORM_STRP_SUP:
    case FORM_SEC_OFFSET:
    case FORM_GNU_REF_ALT:
    case FORM_GNU_STRP_ALT: return u->off_size;
    default: return -1;
    }
}

int8_t dwarf_form_size(uint16_t form)
{
    static const dwarf_unit four = {.version = 5, .addr_size = 4, .off_size = 4},
                            eight = {.version = 5, .addr_size = 8, .off_size = 8};
    int size = fixed_size(&four, form);
    return size == fixed_size(&eight, form) ? (int8_t)size : -1;
}

void dwarf_skip_form(const dwarf_unit *u, rd *r, uint16_t form)
{
    int size = fixed_size(u, form);
    if (size >= 0) {
        rd_skip(r, (uint64_t)size);
        return;
    }
    switch (form) {
    case FORM_STRING: rd_z(r); break;
    case FORM_BLOCK1: rd_skip(r, rd_u8(r)); break;
    case FORM_BLOCK2: rd_skip(r, rd_u16(r)); break;
    case FORM_BLOCK4: rd_skip(r, rd_u32(r)); break;
    case FORM_BLOCK:
    case FORM_EXPRLOC: rd_skip(r, rd_uleb(r)); break;
    case FORM_SDATA:
    case FORM_UDATA:
    case FORM_REF_UDATA:
    case FORM_STRX:
    case FORM_ADDRX:
    case FORM_LOCLISTX:
    case FORM_RNGLISTX:
    case FORM_GNU_ADDR_INDEX:
    case FORM_GNU_STR_INDEX: rd_uleb(r); break;
    case FORM_INDIRECT: {
        uint64_t real = rd_uleb(r);
        if (real == FORM_INDIRECT || real == FORM_IMPLICIT_CONST || real > UINT16_MAX)
            rd_fail(r);
        else
            dwarf_skip_form(u, r, (uint16_t)real);
        break;
    }
    default: rd_fail(r); break; /* unknown length: nothing after it can be read */
    }
}

void dwarf_skip_die(const dwarf *d, const dwarf_unit *u, rd *r, const dwarf_abbrev *ab)
{
    for (uint32_t i = 0; i < ab->n; i++) {
        const dwarf_attr *a = &d->attrs.v[ab->first + i];
        if (a->size >= 0)
            rd_skip(r, (uint64_t)a->size);
        else
            dwarf_skip_form(u, r, a->form);
    }
}

static uint64_t sized(rd *r, int size)
{
    switch (size) {
    case 1: return rd_u8(r);
    case 2: return rd_u16(r);
    case 3: return rd_u24(r);
    case 4: return rd_u32(r);
    case 8: return rd_u64(r);
    default: rd_skip(r, (uint64_t)size); return 0;
    }
}

dwarf_value dwarf_read_form(const dwarf_unit *u, rd *r, const dwarf_attr *a)
{
    dwarf_value v = {.form = a->form};
    if (v.form == FORM_INDIRECT) {
        uint64_t real = rd_uleb(r);
        v.form = (uint16_t)real;
        if (real == FORM_INDIRECT || real == FORM_IMPLICIT_CONST || real > UINT16_MAX) rd_fail(r);
    }
    int size = fixed_size(u, v.form);
    switch (v.form) {
    case FORM_STRING: v.s = rd_z(r); break;
    case FORM_IMPLICIT_CONST: v.u = (uint64_t)a->implicit; break;
    case FORM_FLAG_PRESENT: v.u = 1; break;
    case FORM_SDATA: v.u = (uint64_t)rd_sleb(r); break;
    case FORM_UDATA:
    case FORM_REF_UDATA:
    case FORM_STRX:
    case FORM_ADDRX:
    case FORM_RNGLISTX:
    case FORM_GNU_ADDR_INDEX:
    case FORM_GNU_STR_INDEX: v.u = rd_uleb(r); break;
    default:
        if (size > 0)
            v.u = sized(r, size);
        else
            dwarf_skip_form(u, r, v.form);
    }
    return v;
}

uint64_t dwarf_indexed(str section, uint64_t base, uint64_t index, unsigned size, bool big,
                       bool *ok)
{
    uint64_t at;
    if (ckd_mul(&at, index, (uint64_t)size) || ckd_add(&at, at, base)) return *ok = false, 0;
    rd r = rd_from(section, at, big);
    uint64_t v = rd_uint(&r, size);
    *ok = !r.failed;
    return v;
}

static str cut(str s)
{
    if (s.n > DWARF_MAX_NAME) s.n = DWARF_MAX_NAME;
    return s;
}

str dwarf_string(const dwarf *d, const dwarf_unit *u, const dwarf_value *v)
{
    bool ok = true;
    uint64_t at;
    switch (v->form) {
    case FORM_STRING: return cut(v->s);
    case FORM_STRP: return cut(rd_string_at(d->text, v->u));
    case FORM_LINE_STRP: return cut(rd_string_at(d->line_text, v->u));
    case FORM_STRP_SUP:
    case FORM_GNU_STRP_ALT: return d->alt ? cut(rd_string_at(d->alt->text, v->u)) : STR("");
    case FORM_STRX:
    case FORM_STRX1:
    case FORM_STRX2:
    case FORM_STRX3:
    case FORM_STRX4:
    case FORM_GNU_STR_INDEX:
        at = dwarf_indexed(d->str_offsets, u->str_base, v->u, u->off_size, d->big, &ok);
        return ok ? cut(rd_string_at(d->text, at)) : STR("");
    default: return STR("");
    }
}

bool dwarf_is_address(const dwarf_value *v)
{
    switch (v->form) {
    case FORM_ADDR:
    case FORM_ADDRX:
    case FORM_ADDRX1:
    case FORM_ADDRX2:
    case FORM_ADDRX3:
    case FORM_ADDRX4:
    case FORM_GNU_ADDR_INDEX: return true;
    default: return false;
    }
}

bool dwarf_address(const dwarf *d, const dwarf_unit *u, const dwarf_value *v, uint64_t *out)
{
    bool ok = true;
    if (!dwarf_is_address(v)) return false;
    *out = v->form == FORM_ADDR
               ? v->u
               : dwarf_indexed(d->addr, u->addr_base, v->u, u->addr_size, d->big, &ok);
    return ok;
}

bool dwarf_reference(dwarf *d, const dwarf_unit *u, const dwarf_value *v, dwarf **in,
                     uint64_t *offset)
{
    *in = d;
    *offset = v->u;
    switch (v->form) {
    case FORM_REF1:
    case FORM_REF2:
    case FORM_REF4:
    case FORM_REF8:
    case FORM_REF_UDATA: return !ckd_add(offset, v->u, u->at);
    case FORM_REF_ADDR: return true;
    case FORM_REF_SUP4:
    case FORM_REF_SUP8:
    case FORM_GNU_REF_ALT: *in = d->alt; return d->alt != NULL;
    default: return false;
    }
}
