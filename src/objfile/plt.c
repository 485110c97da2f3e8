/* Names the stubs for calls into other files: `memcpy@plt`, as in objdump. The symbol table does
 * not name the stubs; they are in the order of the relocations in .rela.plt. */
#include "objfile/symbols.h"

#include "objfile/rd.h"
#include "base/ban.h"

enum { STUB = 16, RELA64 = 24, SYMBOL64 = 24, NAME_MAX_BYTES = 4096 };

/* Finds the stubs. In .plt they follow the first entry, which belongs to the resolver. With
 * indirect branch tracking, they are in .plt.sec, which has no such entry. */
static bool find_stubs(const elf_file *f, uint64_t *start, uint64_t *size)
{
    const elf_section *sec = elf_section_named(f, STR(".plt.sec"));
    const elf_section *plt = sec ? sec : elf_section_named(f, STR(".plt"));
    uint64_t lead = sec ? 0 : f->machine == ELF_MACHINE_AARCH64 ? 2 * STUB : STUB;
    if (!plt || plt->size < lead || !(plt->flags & ELF_FLAG_EXEC)) return false;
    *start = plt->addr + lead;
    *size = plt->size - lead;
    return true;
}

static str name_of(str dynsym, str names, uint64_t index, bool big)
{
    uint64_t at;
    if (ckd_mul(&at, index, (uint64_t)SYMBOL64)) return STR("");
    rd r = rd_from(dynsym, at, big);
    str name = rd_string_at(names, rd_u32(&r));
    return r.failed || name.n > NAME_MAX_BYTES ? STR("") : name;
}

static bool add(symbol_list *out, uint64_t address, str name, arena *a, err *e)
{
    char *p = arena_alloc(a, name.n + 4);
    symbol *s = p ? vec_push(a, &out->v) : NULL;
    if (!s) return err_memory(e);
    memcpy(p, name.p, name.n);
    memcpy(p + name.n, "@plt", 4);
    *s = (symbol){.address = address, .size = STUB, .name = {p, name.n + 4}};
    return true;
}

bool symbols_of_plt(const elf_file *f, arena *a, symbol_list *out, err *e)
{
    const elf_section *rela = elf_section_named(f, STR(".rela.plt")),
                      *dyn = elf_section_named(f, STR(".dynsym"));
    uint64_t start, size;
    str table, symbols, names;
    bool known = f->machine == ELF_MACHINE_X86_64 || f->machine == ELF_MACHINE_AARCH64;
    if (!known || !f->is64 || !rela || !dyn || dyn->link >= f->sections.n ||
        !find_stubs(f, &start, &size))
        return true;
    if (!elf_section_bytes(f, rela, a, &table, e) || !elf_section_bytes(f, dyn, a, &symbols, e) ||
        !elf_section_bytes(f, &f->sections.v[dyn->link], a, &names, e))
        return false;
    rd r = rd_of(table, f->big);
    for (uint64_t i = 0; i < table.n / RELA64 && i < size / STUB; i++) {
        rd_u64(&r);
        uint64_t info = rd_u64(&r);
        rd_u64(&r);
        str name = name_of(symbols, names, info >> 32, f->big);
        if (name.n && !add(out, start + i * STUB, name, a, e)) return false;
    }
    return true;
}
