/* Looks up one rule in the mapped .eh_frame of an object: .eh_frame_hdr, then the FDE, then its
 * CIE.  A handler calls this, possibly while another thread unloads the object, so the kernel
 * checks every page of an object that may be unloaded before it is read. */
#include "unwind/object.h"
#include "unwind/go_table.h"

#include "arch/syscall.h"

enum {
    PAGE = 4096,
    PE_OMIT = 0xff,
    PE_INDIRECT = 0x80,
    PE_DATAREL_SDATA4 =
        0x3b, /* the encoding that all linkers write: two 32-bit words, relative to .eh_frame_hdr */
    RECORD_MAX = 64 << 10, /* maximum bytes of one CIE or FDE; the largest in clang are 2 KiB */
};

/* ---- readable bytes ---- */

/* Remembers the last page that the kernel reported as readable. */
typedef struct page_check {
    const unwind_object *o;
    uintptr_t page;
} page_check;

static bool may_read(page_check *a, const void *p, size_t n)
{
    if (!a->o->unloadable || !n) return true;
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
    page_check a = {o, 1};
    return may_read(&a, p, n);
}

/* ---- opening ---- */

/* Returns the bytes of a segment, as far as the file contains them. */
static unwind_bytes segment(const object_source *s, const Elf64_Phdr *p)
{
    uint64_t at = s->bias + p->p_vaddr, n = p->p_filesz;
    if (!s->file) return (unwind_bytes){(const uint8_t *)(uintptr_t)at, n, at};
    if (p->p_offset >= s->n_file) return (unwind_bytes){0};
    if (n > s->n_file - p->p_offset) n = s->n_file - p->p_offset;
    return (unwind_bytes){s->file + p->p_offset, n, at};
}

/* Returns the part of `b` from a run-time address on. */
static unwind_bytes bytes_from(const unwind_bytes *b, uint64_t at)
{
    uint64_t skip = at - b->at;
    if (at < b->at || skip >= b->n) return (unwind_bytes){0};
    return (unwind_bytes){b->p + skip, b->n - skip, at};
}

/* Returns the readable segment that contains an address. */
static unwind_bytes segment_of(const object_source *s, uint64_t at)
{
    for (size_t i = 0; i < s->n_phdr; i++) {
        if (s->phdr[i].p_type != PT_LOAD || !(s->phdr[i].p_flags & PF_R)) continue;
        unwind_bytes b = segment(s, &s->phdr[i]);
        if (at >= b.at && at - b.at < b.n) return b;
    }
    return (unwind_bytes){0};
}

bool object_open(const object_source *s, unwind_object *o)
{
    uint64_t lo = UINT64_MAX, hi = 0, hdr = 0, hdr_size = 0;
    const Elf64_Phdr *text = NULL;
    for (size_t i = 0; i < s->n_phdr; i++) {
        const Elf64_Phdr *p = &s->phdr[i];
        uint64_t start = s->bias + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME) hdr = start, hdr_size = p->p_memsz;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        if (start < lo) lo = start;
        if (start + p->p_memsz > hi) hi = start + p->p_memsz;
        if (p->p_flags & PF_R && (!text || p->p_filesz > text->p_filesz)) text = p;
    }
    if (lo >= hi) return false;
    *o = (unwind_object){.lo = (uintptr_t)lo,
                         .hi = (uintptr_t)hi,
                         .machine = s->machine,
                         .unloadable = s->unloadable};
    if (text) o->code = segment(s, text);
    if (!hdr_size) return true;
    o->frames = segment_of(s, hdr);
    o->hdr = bytes_from(&o->frames, hdr);
    if (o->hdr.n > hdr_size) o->hdr.n = hdr_size;
    return true;
}

/* ---- .eh_frame_hdr: version, three encodings, address of .eh_frame, count, table ---- */

static bool read_index(page_check *a, object_index *x)
{
    enum { HEAD_MAX = 4 + 8 + 8 };
    const unwind_bytes *hdr = &a->o->hdr;
    rd r = {.p = hdr->p, .end = hdr->p + (hdr->n < HEAD_MAX ? hdr->n : HEAD_MAX)};
    *x = (object_index){0};
    if (hdr->n < 4 || !may_read(a, hdr->p, rd_left(&r))) return false;
    uint8_t version = rd_u8(&r), frames = rd_u8(&r), count = rd_u8(&r), table = rd_u8(&r);
    if (version != 1 || frames == PE_OMIT || frames & PE_INDIRECT) return false;
    uint64_t at = cfi_pointer(&r, frames, hdr->at + 4);
    x->eh_frame = bytes_from(&a->o->frames, at);
    if (r.failed || !x->eh_frame.n) return false;
    if (table != PE_DATAREL_SDATA4 || count == PE_OMIT || count & PE_INDIRECT) return true;
    uint64_t n = cfi_pointer(&r, count, 0), room = (hdr->n - (size_t)(r.p - hdr->p)) / 8;
    if (r.failed) return true;
    x->search = r.p;
    x->n_search = (uint32_t)(n < room ? n : room);
    return true;
}

bool object_read_index(const unwind_object *o, object_index *x)
{
    page_check a = {o, 1};
    return read_index(&a, x);
}

/* ---- a rule ---- */

static int64_t word_at(const uint8_t *p)
{
    int32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/* Returns the address of the FDE of the last function that begins at or before pc; 0: none. */
static uint64_t find_fde(page_check *a, uint64_t pc)
{
    object_index x;
    if (!read_index(a, &x)) return 0;
    uint64_t hdr_at = a->o->hdr.at;
    int64_t rel = (int64_t)(pc - hdr_at);
    uint32_t lo = 0, hi = x.n_search;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (!may_read(a, x.search + 8 * (size_t)mid, 8)) return 0;
        if (word_at(x.search + 8 * (size_t)mid) <= rel)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo || !may_read(a, x.search + 8 * (size_t)(lo - 1), 8)) return 0;
    return hdr_at + (uint64_t)word_at(x.search + 8 * (size_t)(lo - 1) + 4);
}

/* Reads the record at a run-time address.  Sets *body to the bytes after the length. */
static bool record_at(page_check *a, uint64_t at, rd *body)
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

/* Reads the CIE at a run-time address.  Not inlined, like run_fde(), because each has a cfi_machine
 * on its stack and the two must not add up. */
static NOINLINE bool cie_at(page_check *a, uint64_t at, cfi_regs regs, cfi_cie *cie)
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

/* Returns the rule from .eh_frame. */
static uint32_t cfi_rule(const unwind_object *o, uint64_t pc, object_hit *hit)
{
    page_check a = {o, 1};
    cfi_regs regs;
    rd body;
    cfi_cie cie;
    cfi_fde fde;
    hit->start = hit->end = 0;
    if (!o->hdr.n || !cfi_regs_of(o->machine, &regs)) return RULE_NONE;
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

uint32_t object_rule(const unwind_object *o, uint64_t pc, object_hit *hit)
{
    uint32_t rule = cfi_rule(o, pc, hit);
    return rule == RULE_NONE && o->go.n ? go_rule(&o->go, pc, hit) : rule;
}
