#include "unwind/object.h"

#include "unwind/arch.h"

enum {
    PAGE = 4096,
    PE_OMIT = 0xff,
    PE_INDIRECT = 0x80,
    PE_DATAREL_SDATA4 =
        0x3b, /* what every linker writes: two words of 32 bits, relative to .eh_frame_hdr */
    RECORD_MAX = 64 << 10, /* bytes of one CIE or FDE; clang has some of 2 KiB */
};

/* ---- which bytes may be read ---- */

/* The page that the kernel was asked about last. */
typedef struct asker {
    const unwind_object *o;
    uintptr_t page;
} asker;

static bool may_read(asker *a, const void *p, size_t n)
{
    if (!a->o->ask || !n) return true;
    uintptr_t first = (uintptr_t)p & ~(uintptr_t)(PAGE - 1), last = (uintptr_t)p + n - 1;
    for (uintptr_t page = first; page <= last; page += PAGE) {
        if (page == a->page) continue;
        if (!arch_readable(page)) return false;
        a->page = page;
    }
    return true;
}

bool object_reach(const unwind_object *o, const void *p, size_t n)
{
    asker a = {o, 1};
    return may_read(&a, p, n);
}

/* ---- opening ---- */

/* From `at` to the end of its segment, as far as the file has it. */
static unwind_bytes bytes_at(const object_source *s, uint64_t at)
{
    for (size_t i = 0; i < s->n_phdr; i++) {
        const Elf64_Phdr *p = &s->phdr[i];
        uint64_t start = s->bias + p->p_vaddr, in = at - start;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_R) || at < start || in >= p->p_filesz)
            continue;
        uint64_t n = p->p_filesz - in, offset;
        if (!s->file) return (unwind_bytes){(const uint8_t *)(uintptr_t)at, n, at};
        if (ckd_add(&offset, p->p_offset, in) || offset >= s->n_file) break;
        return (unwind_bytes){s->file + offset, n < s->n_file - offset ? n : s->n_file - offset,
                              at};
    }
    return (unwind_bytes){0};
}

/* Length, version, four encodings, the address of .eh_frame, the count, the table. */
static void open_header(const object_source *s, unwind_object *o, uint64_t size)
{
    enum { HEADER_MAX = 4 + 8 + 8 };
    asker a = {o, 1};
    unwind_bytes hdr = bytes_at(s, o->hdr_at);
    if (hdr.n > size) hdr.n = size;
    rd r = {.p = hdr.p, .end = hdr.p + (hdr.n < HEADER_MAX ? hdr.n : HEADER_MAX)};
    if (hdr.n < 4 || !may_read(&a, hdr.p, rd_left(&r))) return;
    uint8_t version = rd_u8(&r), frames = rd_u8(&r), count = rd_u8(&r), table = rd_u8(&r);
    if (version != 1 || frames == PE_OMIT || frames & PE_INDIRECT) return;
    uint64_t at = cfi_pointer(&r, frames, o->hdr_at + 4);
    if (r.failed) return;
    o->frames = bytes_at(s, at);
    if (table != PE_DATAREL_SDATA4 || count == PE_OMIT || count & PE_INDIRECT) return;
    uint64_t n = cfi_pointer(&r, count, 0), room = (hdr.n - (size_t)(r.p - hdr.p)) / 8;
    if (r.failed) return;
    o->search = r.p;
    o->n_search = (uint32_t)(n < room ? n : room);
}

bool object_open(const object_source *s, unwind_object *o)
{
    uint64_t lo = UINT64_MAX, hi = 0, hdr_size = 0;
    *o = (unwind_object){.machine = s->machine, .ask = s->ask};
    for (size_t i = 0; i < s->n_phdr; i++) {
        const Elf64_Phdr *p = &s->phdr[i];
        uint64_t start = s->bias + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME) o->hdr_at = start, hdr_size = p->p_memsz;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        if (start < lo) lo = start;
        if (start + p->p_memsz > hi) hi = start + p->p_memsz;
    }
    if (lo >= hi) return false;
    o->lo = (uintptr_t)lo;
    o->hi = (uintptr_t)hi;
    o->code = bytes_at(s, lo);
    if (hdr_size) open_header(s, o, hdr_size);
    return true;
}

/* ---- a rule ---- */

static int64_t word_at(const uint8_t *p)
{
    int32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/* The FDE of the last function that begins at pc or before it, as a run-time address; 0: none. */
static uint64_t find_fde(asker *a, uint64_t pc)
{
    const unwind_object *o = a->o;
    int64_t rel = (int64_t)(pc - o->hdr_at);
    uint32_t lo = 0, hi = o->n_search;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (!may_read(a, o->search + 8 * (size_t)mid, 8)) return 0;
        if (word_at(o->search + 8 * (size_t)mid) <= rel)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo || !may_read(a, o->search + 8 * (size_t)(lo - 1), 8)) return 0;
    return o->hdr_at + (uint64_t)word_at(o->search + 8 * (size_t)(lo - 1) + 4);
}

/* The record at a run-time address: its body behind the length. */
static bool record_at(asker *a, uint64_t at, rd *body)
{
    const unwind_bytes *f = &a->o->frames;
    if (at < f->at || at - f->at >= f->n) return false;
    const uint8_t *p = f->p + (at - f->at);
    size_t left = f->n - (size_t)(at - f->at);
    rd r = {.p = p, .end = p + left};
    if (!may_read(a, p, left < 12 ? left : 12) || !cfi_next_record(&r, body)) return false;
    return rd_left(body) <= RECORD_MAX && may_read(a, body->p, rd_left(body));
}

static uint64_t address_of(const unwind_object *o, const rd *r)
{
    return o->frames.at + (uint64_t)(r->p - o->frames.p);
}

/* Out of line, like run_fde: each has a machine on the stack, and only one at a time. */
static NOINLINE bool cie_at(asker *a, uint64_t at, cfi_regs regs, cfi_cie *cie)
{
    rd body;
    if (!record_at(a, at, &body) || rd_u32(&body) != 0) return false;
    cfi_read_cie(body, address_of(a->o, &body), regs, cie);
    return cie->usable;
}

static NOINLINE uint32_t run_fde(const unwind_object *o, const cfi_fde *f, const cfi_cie *cie,
                                 cfi_regs regs, uint64_t pc, wide_rule *wide)
{
    cfi_machine m = {.cie = cie, .regs = regs, .loc = f->start, .end = f->end, .until = pc};
    m.now = cie->first;
    cfi_run(&m, f->program, address_of(o, &f->program));
    return m.done ? cfi_rule_of(&m, wide) : RULE_NONE;
}

uint32_t object_rule(const unwind_object *o, uint64_t pc, object_hit *hit)
{
    asker a = {o, 1};
    cfi_regs regs;
    rd body;
    cfi_cie cie;
    cfi_fde fde;
    hit->start = hit->end = 0;
    if (!o->n_search || !cfi_regs_of(o->machine, &regs)) return RULE_NONE;
    uint64_t at = find_fde(&a, pc);
    if (!at || !record_at(&a, at, &body)) return RULE_NONE;
    uint64_t here = address_of(o, &body);
    uint32_t back = rd_u32(&body);
    if (!back || !cie_at(&a, here - back, regs, &cie) ||
        !cfi_read_fde(body, here + 4, &cie, &fde) || pc < fde.start || pc >= fde.end ||
        fde.start < o->lo || fde.end > o->hi)
        return RULE_NONE;
    hit->start = fde.start;
    hit->end = fde.end;
    uint32_t rule = run_fde(o, &fde, &cie, regs, pc, &hit->wide);
    return rule_kind(rule) == RULE_PLT ? rule_in_stub(rule, pc) : rule;
}
