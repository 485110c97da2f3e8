/* Parses the records of .eh_frame: CIEs, FDEs and encoded pointers.  The compiler and the lookup in
 * a handler share this file, so it does not call libc.  A record with an unknown version or
 * encoding is marked unusable and does not affect the others. */
#include "unwind/machine.h"

enum {
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
    default: rd_fail(r); return 0; /* relative to data or text: not used in .eh_frame */
    }
}

bool cfi_next_record(rd *r, rd *body)
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

/* The body of a record and its address, from which addresses of cursors in it are computed. */
typedef struct place_in {
    const uint8_t *body;
    uint64_t address;
} place_in;

static uint64_t address_of(const place_in *in, const rd *r)
{
    return in->address + (uint64_t)(r->p - in->body);
}

/* Reads the letters after 'z'.  Their data has a length, so an unknown letter can be skipped. */
static void read_augmentation(const uint8_t *letters, size_t n, rd data, const place_in *in,
                              cfi_cie *cie)
{
    for (size_t i = 1; i < n; i++) switch (letters[i]) {
        case 'R': cie->encoding = rd_u8(&data); break;
        case 'S': cie->signal = true; break;
        case 'L': rd_u8(&data); break;
        case 'B': break; /* aarch64: return addresses are signed with the other key */
        case 'P': {
            uint8_t encoding = rd_u8(&data);
            cfi_pointer(&data, encoding & (PE_FORM | PE_PCREL), address_of(in, &data));
            break;
        }
        default: return;
        }
}

/* Returns the length of the terminated string at r.  The cursor fails if it exceeds
 * AUGMENTATION_MAX. */
static size_t letters_at(rd *r)
{
    size_t n = 0;
    while (rd_u8(r) && n <= AUGMENTATION_MAX) n++;
    if (n > AUGMENTATION_MAX) rd_fail(r);
    return n;
}

static bool run_cie(rd program, cfi_regs regs, cfi_cie *cie)
{
    if (rd_left(&program) > CFI_CIE_MAX) return false;
    cfi_machine m = {.regs = regs, .cie = cie, .in_cie = true, .now = {.how = CFA_UNKNOWN}};
    cfi_run(&m, program, 0);
    cie->first = m.now;
    return !m.failed;
}

void cfi_read_cie(rd r, uint64_t address, cfi_regs regs, cfi_cie *cie)
{
    *cie = (cfi_cie){0};
    place_in in = {r.p, address};
    uint8_t version = rd_u8(&r);
    const uint8_t *letters = r.p;
    size_t n_letters = letters_at(&r);
    if (version == 4) rd_u16(&r); /* sizes of address and segment */
    cie->code_align = rd_uleb(&r);
    cie->data_align = rd_sleb(&r);
    uint64_t ra = version == 1 ? rd_u8(&r) : rd_uleb(&r);
    if (r.failed || (version != 1 && version != 3 && version != 4) || ra != regs.ra) return;
    if (n_letters) {
        if (letters[0] != 'z') return;
        cie->augmented = true;
        uint64_t n = rd_uleb(&r);
        if (n > rd_left(&r)) return;
        rd data = r;
        data.end = r.p + n;
        rd_skip(&r, n);
        read_augmentation(letters, n_letters, data, &in, cie);
    }
    cie->usable = !r.failed && !(cie->encoding & PE_INDIRECT) && run_cie(r, regs, cie);
}

bool cfi_read_fde(rd r, uint64_t address, const cfi_cie *cie, cfi_fde *f)
{
    f->start = cfi_pointer(&r, cie->encoding, address);
    uint64_t size = cfi_pointer(&r, cie->encoding & PE_FORM, 0);
    if (cie->augmented) rd_skip(&r, rd_uleb(&r));
    f->program = r;
    return !r.failed && size && !ckd_add(&f->end, f->start, size);
}
