/* Reads ELF objects in the memory of another process.  All sizes are checked, because the memory
 * may contain anything. */
#include "ctx/image.h"

#include "base/ban.h"

enum { PAGE = 4096, NAME_MAX_BYTES = 64, CHUNK = 512 /* relocations read at once */ };

/* ---- headers ---- */

static bool read_header(const memory *m, uint64_t start, Elf64_Ehdr *h)
{
    return memory_read(m, start, h, sizeof *h) && !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
           h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
           (h->e_type == ET_DYN || h->e_type == ET_EXEC) && h->e_phentsize == sizeof(Elf64_Phdr) &&
           h->e_phnum > 0 && h->e_phnum <= IMAGE_SEGMENTS;
}

/* Returns the absolute address for one in the dynamic section: glibc has added the bias to it, musl
 * has not. */
static uint64_t absolute(const image *o, uint64_t v) { return v < o->bias ? v + o->bias : v; }

static void take_entry(image *o, const Elf64_Dyn *d)
{
    uint64_t v = d->d_un.d_val;
    switch (d->d_tag) {
    case DT_SYMTAB: o->symbols = absolute(o, v); break;
    case DT_STRTAB: o->strings = absolute(o, v); break;
    case DT_STRSZ: o->strings_size = v; break;
    case DT_GNU_HASH: o->gnu_hash = absolute(o, v); break;
    case DT_HASH: o->hash = absolute(o, v); break;
    case DT_RELA: o->relocations[0].at = absolute(o, v); break;
    case DT_RELASZ: o->relocations[0].size = v; break;
    case DT_JMPREL: o->relocations[1].at = absolute(o, v); break;
    case DT_PLTRELSZ: o->relocations[1].size = v; break;
    case DT_SONAME: o->has_soname = true; break;
    case DT_FLAGS_1: o->is_program |= (v & DF_1_PIE) != 0; break;
    }
}

static bool read_dynamic(const memory *m, image *o, uint64_t at, uint64_t size)
{
    size_t n = size / sizeof(Elf64_Dyn);
    for (size_t i = 0; i < n && i < IMAGE_DYNAMIC; i++) {
        Elf64_Dyn d;
        if (!memory_read(m, at + i * sizeof d, &d, sizeof d)) return false;
        if (d.d_tag == DT_NULL) break;
        take_entry(o, &d);
    }
    return o->symbols && o->strings;
}

bool image_read(const memory *m, str name, uint64_t start, image *out)
{
    Elf64_Ehdr h;
    Elf64_Phdr p[IMAGE_SEGMENTS];
    const Elf64_Phdr *dynamic = NULL;
    bool interpreted = false;
    uint64_t lowest = UINT64_MAX;
    if (!read_header(m, start, &h)) return false;
    if (!memory_read(m, start + h.e_phoff, p, h.e_phnum * sizeof *p)) return false;
    *out = (image){.name = name, .is_program = h.e_type == ET_EXEC};
    for (size_t i = 0; i < h.e_phnum; i++) {
        if (p[i].p_type == PT_LOAD && p[i].p_vaddr < lowest) lowest = p[i].p_vaddr;
        if (p[i].p_type == PT_DYNAMIC) dynamic = &p[i];
        if (p[i].p_type == PT_TLS) out->tls = p[i];
        if (p[i].p_type == PT_INTERP) interpreted = true;
    }
    if (!dynamic || lowest == UINT64_MAX) return false;
    out->bias = start - lowest / PAGE * PAGE;
    if (!read_dynamic(m, out, out->bias + dynamic->p_vaddr, dynamic->p_memsz)) return false;
    /* libc also has an interpreter, but it has a soname */
    out->is_program |= interpreted && !out->has_soname;
    return true;
}

/* ---- symbols ---- */

static bool symbol_at(const memory *m, const image *o, uint32_t index, Elf64_Sym *out)
{
    return memory_read(m, o->symbols + (uint64_t)index * sizeof *out, out, sizeof *out);
}

static bool is_called(const memory *m, const image *o, const Elf64_Sym *s, const char *name)
{
    char text[NAME_MAX_BYTES];
    size_t n = strlen(name) + 1;
    if (n > sizeof text || s->st_name > o->strings_size || n > o->strings_size - s->st_name)
        return false;
    return memory_read(m, o->strings + s->st_name, text, n) && !memcmp(text, name, n);
}

bool image_is_named(const memory *m, const image *o, uint32_t index, const char *name)
{
    Elf64_Sym s;
    return symbol_at(m, o, index, &s) && is_called(m, o, &s, name);
}

static bool is_wanted(const memory *m, const image *o, uint32_t index, const char *name,
                      Elf64_Sym *out)
{
    return symbol_at(m, o, index, out) && out->st_shndx != SHN_UNDEF && is_called(m, o, out, name);
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t h = 5381;
    for (const char *p = name; *p; p++) h = h * 33 + (uint8_t)*p;
    return h;
}

/* Searches DT_GNU_HASH: [buckets, first symbol, bloom words, bloom shift | bloom | buckets |
 * chain].  The lowest bit of a chain word ends the chain. */
static bool find_gnu(const memory *m, const image *o, const char *name, uint32_t *index,
                     Elf64_Sym *out)
{
    uint32_t head[4], at, word, h = gnu_hash_of(name);
    if (!memory_read(m, o->gnu_hash, head, sizeof head) || !head[0]) return false;
    uint64_t buckets = o->gnu_hash + sizeof head + (uint64_t)head[2] * 8;
    uint64_t chain = buckets + (uint64_t)head[0] * 4;
    if (!memory_read(m, buckets + (uint64_t)(h % head[0]) * 4, &at, sizeof at)) return false;
    for (uint32_t i = 0; at >= head[1] && i < IMAGE_CHAIN; i++, at++) {
        if (!memory_read(m, chain + (uint64_t)(at - head[1]) * 4, &word, sizeof word)) return false;
        if ((word | 1) == (h | 1) && is_wanted(m, o, at, name, out)) return *index = at, true;
        if (word & 1) break;
    }
    return false;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 0;
    for (const char *p = name; *p; p++) {
        h = (h << 4) + (uint8_t)*p;
        h = (h ^ (h & 0xf0000000) >> 24) & 0x0fffffff;
    }
    return h;
}

/* Searches DT_HASH: [buckets, chains | buckets | chain].  0 ends a chain. */
static bool find_old(const memory *m, const image *o, const char *name, uint32_t *index,
                     Elf64_Sym *out)
{
    uint32_t head[2], at;
    if (!memory_read(m, o->hash, head, sizeof head) || !head[0]) return false;
    uint64_t buckets = o->hash + sizeof head, chain = buckets + (uint64_t)head[0] * 4;
    uint64_t next = buckets + (uint64_t)(hash_of(name) % head[0]) * 4;
    for (uint32_t i = 0; i < IMAGE_CHAIN; i++) {
        if (!memory_read(m, next, &at, sizeof at) || !at) return false;
        if (is_wanted(m, o, at, name, out)) return *index = at, true;
        next = chain + (uint64_t)at * 4;
    }
    return false;
}

bool image_symbol(const memory *m, const image *o, const char *name, uint32_t *index,
                  Elf64_Sym *out)
{
    if (o->gnu_hash) return find_gnu(m, o, name, index, out);
    return o->hash && find_old(m, o, name, index, out);
}

/* ---- relocations ---- */

bool image_relocations(const memory *m, const image *o,
                       bool (*each)(void *ctx, const Elf64_Rela *r), void *ctx)
{
    Elf64_Rela v[CHUNK];
    for (size_t t = 0; t < ARRAY_LEN(o->relocations); t++) {
        uint64_t at = o->relocations[t].at, left = o->relocations[t].size / sizeof *v;
        if (!at || left > IMAGE_RELOCATIONS) continue;
        for (uint64_t n; left; left -= n, at += n * sizeof *v) {
            n = left < CHUNK ? left : CHUNK;
            if (!memory_read(m, at, v, n * sizeof *v)) break;
            for (uint64_t i = 0; i < n; i++)
                if (each(ctx, &v[i])) return true;
        }
    }
    return false;
}
