/* Reads the program headers of ELF files for the unwinder. */
#include "collect/object_file.h"

#include "objfile/elf.h"
#include "unwind/cfi.h"
#include "unwind/go_table.h"

#include <sys/auxv.h>
#include "base/ban.h"

enum { PAGE = 4096 };

str object_vdso(void)
{
    const char *base = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!base) return (str){0};
    Elf64_Ehdr h;
    memcpy(&h, base, sizeof h);
    return (str){base, h.e_shoff + (size_t)h.e_shnum * h.e_shentsize};
}

/* Computes the bias of a mapping from the segment that contains its file offset. */
static bool bias_of(const Elf64_Phdr *v, size_t n, uint64_t start, uint64_t offset, uint64_t *bias)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t from = v[i].p_offset & ~(uint64_t)(PAGE - 1);
        if (v[i].p_type != PT_LOAD || !(v[i].p_flags & PF_X) || offset < from ||
            offset >= v[i].p_offset + v[i].p_filesz)
            continue;
        *bias = start - (v[i].p_vaddr - v[i].p_offset + offset);
        return true;
    }
    return false;
}

/* Reads the program headers and the bias. */
static bool read_source(str bytes, uint64_t start, uint64_t offset, object_source *s)
{
    Elf64_Ehdr h;
    if (bytes.n < sizeof h) return false;
    memcpy(&h, bytes.p, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff % 8 || h.e_phoff > bytes.n ||
        (uint64_t)h.e_phnum * sizeof(Elf64_Phdr) > bytes.n - h.e_phoff)
        return false;
    *s = (object_source){.phdr = (const Elf64_Phdr *)(const void *)(bytes.p + h.e_phoff),
                         .n_phdr = h.e_phnum,
                         .file = (const uint8_t *)bytes.p,
                         .n_file = bytes.n,
                         .machine = h.e_machine};
    return bias_of(s->phdr, s->n_phdr, start, offset, &s->bias);
}

bool object_of_file(str bytes, uint64_t start, uint64_t offset, unwind_object *o)
{
    object_source s;
    return read_source(bytes, start, offset, &s) && object_open(&s, o);
}

bool object_bias(str bytes, uint64_t start, uint64_t offset, uint64_t *bias)
{
    object_source s;
    if (!read_source(bytes, start, offset, &s)) return false;
    *bias = s.bias;
    return true;
}

str object_eh_frame(str bytes, uint64_t *address)
{
    elf_file f;
    arena scratch = {.budget = 4 << 20};
    str found = {0};
    const elf_section *x =
        elf_read(bytes, &scratch, &f, NULL) ? elf_section_named(&f, STR(".eh_frame")) : NULL;
    if (x && x->addr && x->offset < bytes.n && x->size <= bytes.n - x->offset) {
        found = (str){bytes.p + x->offset, x->size};
        *address = x->addr;
    }
    arena_free(&scratch);
    return found;
}

void object_add_rules(str bytes, uint64_t start, uint64_t offset, arena *a, unwind_object *o)
{
    uint64_t bias;
    cfi_source s = {.text_lo = o->lo, .text_hi = o->hi, .machine = o->machine};
    if (o->hdr.n || !object_bias(bytes, start, offset, &bias)) return;
    s.eh_frame = object_eh_frame(bytes, &s.address);
    s.address += bias;
    unwind_table *t = s.eh_frame.n ? arena_new(a, unwind_table, 1) : NULL;
    if (t && cfi_compile(&s, a, t, NULL, NULL)) atomic_store(&o->table, t);
}

/* Finds the section of Go's table; NULL: none. */
static const elf_section *go_section(str bytes, arena *scratch)
{
    elf_file f;
    if (!elf_read(bytes, scratch, &f, NULL)) return NULL;
    const elf_section *x = elf_section_named(&f, STR(".gopclntab"));
    return x ? x : elf_section_named(&f, STR(".data.rel.ro.gopclntab"));
}

bool object_has_go(str bytes)
{
    arena scratch = {.budget = 4 << 20};
    bool has = go_section(bytes, &scratch) != NULL;
    arena_free(&scratch);
    return has;
}

void object_add_go(str bytes, uint64_t start, uint64_t offset, unwind_object *o)
{
    object_source s;
    arena scratch = {.budget = 4 << 20};
    const elf_section *found =
        read_source(bytes, start, offset, &s) ? go_section(bytes, &scratch) : NULL;
    if (found && found->offset < bytes.n && found->size <= bytes.n - found->offset) {
        unwind_bytes go = {s.file + found->offset, found->size, s.bias};
        if (go_table_readable(&go)) o->go = go;
    }
    arena_free(&scratch);
}
