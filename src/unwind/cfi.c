#include "unwind/internal.h"

#include "base/ban.h"

enum {
    PE_OMIT = 0xff,
    PE_FORM = 0x0f,
    PE_PCREL = 0x10,
    PE_BASE = 0x70,
    PE_INDIRECT = 0x80,
    AUGMENTATION_MAX = 8,
};

uint64_t cfi_pointer(rd *r, uint8_t encoding, uint64_t address)
{
    uint64_t v = 0;
    switch (encoding & PE_FORM) {
    case 0x0:
    case 0x4:
    case 0xc: v = rd_u64(r); break;
    case 0x1: v = rd_uleb(r); break;
    case 0x2: v = rd_u16(r); break;
    case 0x3: v = rd_u32(r); break;
    case 0x9: v = (uint64_t)rd_sleb(r); break;
    case 0xa: v = (uint64_t)(int16_t)rd_u16(r); break;
    case 0xb: v = (uint64_t)(int32_t)rd_u32(r); break;
    default: rd_fail(r); break;
    }
    switch (encoding & PE_BASE) {
    case 0: return v;
    case PE_PCREL: return v + address;
    default: rd_fail(r); return 0; /* relative to data or text: nobody writes it here */
    }
}

/* One record: its body behind the length.  false at the end or when it is cut short. */
static bool next_record(rd *r, rd *body)
{
    if (rd_left(r) < 4) return false;
    uint64_t n = rd_u32(r);
    if (n == UINT32_MAX) n = rd_u64(r);
    if (!n || n > rd_left(r)) return false;
    *body = *r;
    body->end = r->p + n;
    rd_skip(r, n);
    return true;
}

size_t cfi_length(str s)
{
    rd r = rd_of(s, false), body;
    const uint8_t *start = r.p, *end = start;
    while (next_record(&r, &body)) end = r.p;
    return (size_t)(end - start);
}

bool cfi_find(str hdr, uint64_t address, uint64_t *eh_frame)
{
    rd r = rd_of(hdr, false);
    uint8_t version = rd_u8(&r), encoding = rd_u8(&r);
    rd_u16(&r); /* encodings of the search table, which we do not need */
    if (version != 1 || encoding == PE_OMIT || encoding & PE_INDIRECT) return false;
    *eh_frame = cfi_pointer(&r, encoding, address + 4);
    return !r.failed;
}

static uint64_t address_of(const cfi_compiler *c, const rd *r)
{
    return c->s->address + (uint64_t)(r->p - (const uint8_t *)c->s->eh_frame.p);
}

/* The letters behind 'z'.  What they say may be skipped, so an unknown one does no harm. */
static void read_augmentation(const cfi_compiler *c, str letters, rd data, cfi_cie *cie)
{
    for (size_t i = 1; i < letters.n; i++) switch (letters.p[i]) {
        case 'R': cie->encoding = rd_u8(&data); break;
        case 'S': cie->signal = true; break;
        case 'L': rd_u8(&data); break;
        case 'B': break; /* aarch64: return addresses are signed with the other key */
        case 'P': {
            uint8_t encoding = rd_u8(&data);
            cfi_pointer(&data, encoding & (PE_FORM | PE_PCREL), address_of(c, &data));
            break;
        }
        default: return;
        }
}

static cfi_cie read_cie(const cfi_compiler *c, rd r)
{
    cfi_cie cie = {0};
    uint8_t version = rd_u8(&r);
    str letters = rd_z(&r);
    if (version == 4) rd_u16(&r); /* sizes of address and segment */
    cie.code_align = rd_uleb(&r);
    cie.data_align = rd_sleb(&r);
    uint64_t ra = version == 1 ? rd_u8(&r) : rd_uleb(&r);
    if ((version != 1 && version != 3 && version != 4) || ra != c->regs.ra ||
        letters.n > AUGMENTATION_MAX)
        return cie;
    if (letters.n) {
        if (letters.p[0] != 'z') return cie;
        cie.augmented = true;
        uint64_t n = rd_uleb(&r);
        if (n > rd_left(&r)) return cie;
        rd data = r;
        data.end = r.p + n;
        rd_skip(&r, n);
        read_augmentation(c, letters, data, &cie);
    }
    cie.usable = !r.failed && !(cie.encoding & PE_INDIRECT) && cfi_run_cie(c, r, &cie);
    return cie;
}

static bool add_function(cfi_compiler *c, rd r, const cfi_cie *cie)
{
    uint64_t at = address_of(c, &r), start = cfi_pointer(&r, cie->encoding, at);
    uint64_t size = cfi_pointer(&r, cie->encoding & PE_FORM, 0), end;
    if (cie->augmented) rd_skip(&r, rd_uleb(&r));
    if (r.failed || !size || ckd_add(&end, start, size) || start < c->s->text_lo ||
        end > c->s->text_hi) {
        c->n.outside++;
        return true;
    }
    cfi_function *f = vec_push(c->a, &c->functions);
    if (!f) return err_set(c->e, ERR_LIMIT, "the memory budget is spent");
    f->start = (uint32_t)(start - c->s->text_lo);
    f->end = (uint32_t)(end - c->s->text_lo);
    c->n.functions++;
    return cfi_run_function(c, r, cie, f);
}

/* Functions of one CIE mostly follow each other, so the last one is kept; running it is bounded by
 * CFI_CIE_MAX bytes, so records that take turns cost no more than their number. */
static bool read_records(cfi_compiler *c)
{
    rd r = rd_of(c->s->eh_frame, false), body;
    cfi_cie cie = {0};
    uint64_t cie_at = UINT64_MAX;
    while (next_record(&r, &body)) {
        uint64_t here = (uint64_t)(body.p - (const uint8_t *)c->s->eh_frame.p);
        uint32_t back = rd_u32(&body);
        if (body.failed || !back) continue;
        if (back > here)
            return err_at(c->e, ERR_MALFORMED, here, "a function has no CIE before it");
        if (here - back != cie_at) {
            cie_at = here - back;
            rd all = rd_from(c->s->eh_frame, cie_at, false), record;
            cie = (cfi_cie){0};
            if (next_record(&all, &record) && rd_u32(&record) == 0) cie = read_cie(c, record);
        }
        if (!cie.usable)
            c->n.unknown++;
        else if (!add_function(c, body, &cie))
            return false;
    }
    return true;
}

bool cfi_compile(const cfi_source *s, arena *a, unwind_table *out, cfi_counts *counts, err *e)
{
    static const cfi_regs x86_64 = {.sp = 7, .fp = 6, .third = 3, .ra = 16},
                          aarch64 = {.sp = 31, .fp = 29, .third = 30, .ra = 30};
    *out = (unwind_table){.base = s->text_lo};
    if (s->machine != CFI_X86_64 && s->machine != CFI_AARCH64)
        return err_set(e, ERR_UNSUPPORTED, "no unwind tables for ELF machine %u", s->machine);
    if (s->text_hi < s->text_lo || s->text_hi - s->text_lo >= UINT32_MAX)
        return err_set(e, ERR_LIMIT, "more than 4 GiB of code in one object");
    arena scratch = arena_beside(a);
    cfi_compiler c = {.s = s, .regs = s->machine == CFI_X86_64 ? x86_64 : aarch64, .a = a, .e = e};
    c.a = &scratch;
    bool ok = read_records(&c);
    c.a = a;
    ok = ok && cfi_make_table(&c, out);
    if (counts) *counts = c.n;
    arena_free(&scratch);
    return ok;
}
