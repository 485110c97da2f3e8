/* Parses the headers of an ELF file into tables of sections and segments. Addresses depend only on
 * the program headers; sections may be missing. Only broken headers are errors: a section outside
 * the file reads as empty. */
#include "objfile/elf.h"

#include "objfile/rd.h"
#include "base/ban.h"

enum { SHN_XINDEX = 0xffff, PN_XNUM = 0xffff, PAGE = 4096 };

typedef struct header {
    uint64_t phoff, shoff;
    uint32_t phentsize, phnum, shentsize, shnum, shstrndx;
} header;

static uint64_t word(rd *r, bool is64) { return is64 ? rd_u64(r) : rd_u32(r); }

static bool read_header(str bytes, elf_file *f, header *h, err *e)
{
    if (bytes.n < 52 || memcmp(bytes.p, "\177ELF", 4) != 0)
        return err_at(e, ERR_MALFORMED, 0, "not an ELF file");
    uint8_t class = (uint8_t)bytes.p[4], order = (uint8_t)bytes.p[5];
    if (class < 1 || class > 2 || order < 1 || order > 2)
        return err_at(e, ERR_MALFORMED, 4, "ELF class %u and byte order %u are not known", class,
                      order);
    *f = (elf_file){.bytes = bytes, .big = order == 2, .is64 = class == 2};
    rd r = rd_from(bytes, 16, f->big);
    f->type = rd_u16(&r);
    f->machine = rd_u16(&r);
    rd_u32(&r);
    word(&r, f->is64); /* entry */
    h->phoff = word(&r, f->is64);
    h->shoff = word(&r, f->is64);
    rd_skip(&r, 6); /* flags, size of this header */
    h->phentsize = rd_u16(&r);
    h->phnum = rd_u16(&r);
    h->shentsize = rd_u16(&r);
    h->shnum = rd_u16(&r);
    h->shstrndx = rd_u16(&r);
    return !r.failed || err_at(e, ERR_MALFORMED, bytes.n, "the ELF header is truncated");
}

static elf_section section_at(const elf_file *f, rd r, uint32_t *name, uint32_t *info)
{
    elf_section s = {0};
    *name = rd_u32(&r);
    s.type = rd_u32(&r);
    s.flags = word(&r, f->is64);
    s.addr = word(&r, f->is64);
    s.offset = word(&r, f->is64);
    s.size = word(&r, f->is64);
    s.link = rd_u32(&r);
    *info = rd_u32(&r);
    word(&r, f->is64); /* alignment */
    s.entry_size = word(&r, f->is64);
    return s;
}

/* Section 0 holds counts that do not fit the header. */
static void extended_counts(const elf_file *f, header *h)
{
    uint32_t name, info;
    rd r = rd_from(f->bytes, h->shoff, f->big);
    elf_section first = section_at(f, r, &name, &info);
    if (h->shnum == 0 && first.size <= UINT32_MAX) h->shnum = (uint32_t)first.size;
    if (h->shstrndx == SHN_XINDEX) h->shstrndx = first.link;
    if (h->phnum == PN_XNUM) h->phnum = info;
}

static str section_raw(const elf_file *f, const elf_section *s)
{
    if (s->type == ELF_NOBITS || s->offset > f->bytes.n || s->size > f->bytes.n - s->offset)
        return (str){"", 0};
    return (str){f->bytes.p + s->offset, (size_t)s->size};
}

static bool read_sections(elf_file *f, const header *h, arena *a, err *e)
{
    size_t size = f->is64 ? 64 : 40;
    if (!h->shnum) return true;
    if (h->shentsize < size || h->shoff > f->bytes.n ||
        h->shnum > (f->bytes.n - h->shoff) / h->shentsize)
        return err_at(e, ERR_MALFORMED, h->shoff, "the %u section headers are outside the file",
                      h->shnum);
    uint32_t *names = arena_new(a, uint32_t, h->shnum), info;
    if (!names || !vec_reserve(a, &f->sections, h->shnum)) return err_memory(e);
    for (uint32_t i = 0; i < h->shnum; i++) {
        rd r = rd_from(f->bytes, h->shoff + (uint64_t)i * h->shentsize, f->big);
        f->sections.v[f->sections.n++] = section_at(f, r, &names[i], &info);
    }
    if (h->shstrndx >= f->sections.n) return true;
    str text = section_raw(f, &f->sections.v[h->shstrndx]);
    for (uint32_t i = 0; i < h->shnum; i++) f->sections.v[i].name = rd_string_at(text, names[i]);
    return true;
}

static bool read_segments(elf_file *f, const header *h, arena *a, err *e)
{
    size_t size = f->is64 ? 56 : 32;
    if (!h->phnum) return true;
    if (h->phentsize < size || h->phoff > f->bytes.n ||
        h->phnum > (f->bytes.n - h->phoff) / h->phentsize)
        return err_at(e, ERR_MALFORMED, h->phoff, "the %u program headers are outside the file",
                      h->phnum);
    if (!vec_reserve(a, &f->segments, h->phnum)) return err_memory(e);
    for (uint32_t i = 0; i < h->phnum; i++) {
        rd r = rd_from(f->bytes, h->phoff + (uint64_t)i * h->phentsize, f->big);
        elf_segment *s = &f->segments.v[f->segments.n++];
        s->type = rd_u32(&r);
        if (f->is64) s->flags = rd_u32(&r);
        s->offset = word(&r, f->is64);
        s->vaddr = word(&r, f->is64);
        word(&r, f->is64); /* physical address */
        s->file_size = word(&r, f->is64);
        s->memory_size = word(&r, f->is64);
        if (!f->is64) s->flags = rd_u32(&r);
        s->align = word(&r, f->is64);
    }
    return true;
}

bool elf_read(str bytes, arena *a, elf_file *out, err *e)
{
    header h = {0};
    *out = (elf_file){0};
    if (!read_header(bytes, out, &h, e)) return false;
    if (h.shoff) extended_counts(out, &h);
    if (!h.shoff) h.shnum = 0;
    return read_sections(out, &h, a, e) && read_segments(out, &h, a, e);
}

const elf_section *elf_section_named(const elf_file *f, str name)
{
    for (size_t i = 0; i < f->sections.n; i++)
        if (str_eq(f->sections.v[i].name, name)) return &f->sections.v[i];
    return NULL;
}

bool elf_has(const elf_file *f, str name)
{
    const elf_section *s = elf_section_named(f, name);
    return s && section_raw(f, s).n > 0;
}

/* Returns whether the segment contains the offset. The kernel maps whole pages, so a mapping may
 * begin up to `lead` bytes before its segment. */
static bool segment_holds(const elf_segment *s, uint64_t offset, uint64_t lead)
{
    uint64_t start = s->offset - lead;
    return s->type == ELF_LOAD && offset >= start && offset - start < s->file_size + lead;
}

bool elf_address_of_offset(const elf_file *f, uint64_t offset, uint64_t *address)
{
    for (unsigned whole_pages = 0; whole_pages < 2; whole_pages++)
        for (size_t i = 0; i < f->segments.n; i++) {
            const elf_segment *s = &f->segments.v[i];
            if (!segment_holds(s, offset, whole_pages ? s->offset % PAGE : 0)) continue;
            *address = s->vaddr + (offset - s->offset);
            return true;
        }
    return false;
}

str elf_interpreter(const elf_file *f)
{
    for (size_t i = 0; i < f->segments.n; i++) {
        const elf_segment *s = &f->segments.v[i];
        if (s->type != ELF_SEGMENT_INTERP) continue;
        if (s->offset > f->bytes.n || s->file_size > f->bytes.n - s->offset) break;
        const char *p = f->bytes.p + s->offset;
        return (str){p, strnlen(p, (size_t)s->file_size)};
    }
    return (str){0};
}

str elf_needed(const elf_file *f, str prefix)
{
    const elf_section *s = elf_section_named(f, STR(".dynamic")),
                      *t = elf_section_named(f, STR(".dynstr"));
    if (!s || !t) return (str){0};
    str names = section_raw(f, t);
    for (rd r = rd_of(section_raw(f, s), f->big); rd_left(&r);) {
        uint64_t tag = word(&r, f->is64), value = word(&r, f->is64);
        str name = tag == ELF_DYNAMIC_NEEDED ? rd_string_at(names, value) : (str){0};
        if (name.n && str_starts(name, prefix)) return name;
    }
    return (str){0};
}

uint64_t elf_base(const elf_file *f)
{
    uint64_t base = UINT64_MAX;
    for (size_t i = 0; i < f->segments.n; i++)
        if (f->segments.v[i].type == ELF_LOAD && f->segments.v[i].vaddr < base)
            base = f->segments.v[i].vaddr;
    return base == UINT64_MAX ? 0 : base - base % PAGE;
}
