/* Modules that are not ordinary files: the kernel, the vDSO, and code generated at run time. The
 * kernel is loaded at a different address at each boot, so its symbols are shifted by the offset of
 * a reference symbol. */
#include "symbol/module.h"

#include "model/model.h"
#include "sys/rooted.h"
#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include "base/ban.h"

#define KALLSYMS "/proc/kallsyms"
#define KERNEL_NOTES "/sys/kernel/notes"
#define BUDGET ((size_t)1 << 30)

enum { PERF_MAP_MAX = 256 << 20 }; /* the recorded process writes it */

static bool same_id(str want, str id)
{
    char hex[2 * BUILD_ID_BYTES_MAX + 1];
    if (!id.n || id.n > BUILD_ID_BYTES_MAX) return false;
    hex_encode((const uint8_t *)id.p, id.n, hex);
    return str_eq(want, str_of(hex));
}

/* Returns whether the profile was recorded on the running kernel. */
static bool is_running(const binary_id *id)
{
    file_bytes f;
    if (!id->gnu.n || !file_read(KERNEL_NOTES, 1 << 20, &f, NULL)) return false;
    bool ok =
        same_id(id->gnu, notes_build_ids(f.bytes, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__).gnu);
    file_release(&f);
    return ok;
}

/* Returns the offset between the addresses of the symbols and of the recorded kernel. */
static uint64_t bias_of(const symbol_list *l, uint64_t start, str ref)
{
    for (size_t i = 0; start && ref.n && i < l->v.n; i++)
        if (str_eq(l->v.v[i].name, ref)) return start - l->v.v[i].address;
    return 0;
}

static void take_kallsyms(module *m, const char *path, uint64_t start, str ref)
{
    arena a = {.budget = BUDGET};
    symbol_list l = {0};
    file_bytes f;
    err e = {0};
    if (!file_read(path, 0, &f, &e)) {
        m->state = e.sys == EACCES || e.sys == EPERM ? MODULE_FORBIDDEN : MODULE_MISSING;
        return;
    }
    bool read = symbols_of_kallsyms(f.bytes, &a, &l, NULL);
    if (read && !l.v.n) {
        m->state = MODULE_FORBIDDEN; /* the file exists, but its addresses are hidden */
    } else if (read && module_take_symbols(m, &l, &a)) {
        m->path = strdup(path);
        m->bias = bias_of(&l, start, ref);
    } else {
        m->state = MODULE_BROKEN;
    }
    file_release(&f);
    arena_free(&a);
}

/* Sets the bias of a vmlinux, whose addresses are those of a kernel that was not relocated. */
static void place_vmlinux(module *m, uint64_t start, str ref)
{
    if (m->state > MODULE_EXPORTS) return;
    m->absolute = true;
    for (uint64_t i = 0; start && ref.n && i < m->index.h.n_rows; i++) {
        const index_row *r = &m->index.rows[i];
        if (!str_eq(index_text_at(&m->index, r->symbol), ref)) continue;
        m->bias = start - r->address;
        return;
    }
}

void module_open_kernel(module *m, const binary_id *id, uint64_t start, str ref,
                        const module_opts *o, symbol_cache *c)
{
    *m = (module){.state = MODULE_MISSING};
    if (o->kallsyms) {
        take_kallsyms(m, o->kallsyms, start, ref);
        return;
    }
    if (id->gnu.n) module_open(m, &(binary_id){.name = STR("vmlinux"), .gnu = id->gnu}, o, c);
    place_vmlinux(m, start, ref);
    if (m->state <= MODULE_EXPORTS || !is_running(id)) return;
    module_close(m);
    m->state = MODULE_MISSING;
    take_kallsyms(m, KALLSYMS, start, ref);
    m->verified = m->state == MODULE_SYMBOLS;
}

void module_open_vdso(module *m, const binary_id *id, const module_opts *o)
{
    arena a = {.budget = BUDGET};
    elf_file f;
    str block;
    const char *p = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    *m = (module){.state = MODULE_MISSING};
    if (!p || sizeof(void *) != 8) return;
    Elf64_Ehdr h; /* the section headers come last and give the size */
    memcpy(&h, p, sizeof h);
    size_t n = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
    bool ok = elf_read((str){p, n}, &a, &f, NULL);
    str gnu = ok ? elf_build_ids(&f).gnu : STR("");
    if (id->gnu.n && !same_id(id->gnu, gnu)) {
        m->state = MODULE_DIFFERS;
    } else if (!id->gnu.n && o->dirs.proven) {
        m->state = MODULE_NO_ID;
    } else if (ok && index_build(&(index_source){.file = &f}, &a, &block, NULL) &&
               module_store_index(m, block)) {
        m->state = MODULE_EXPORTS;
        m->trusted = !id->gnu.n;
        m->verified = id->gnu.n > 0;
        module_take_image(m, &f);
        if (gnu.n) hex_encode((const uint8_t *)gnu.p, gnu.n, m->gnu);
    } else {
        m->state = MODULE_BROKEN;
    }
    arena_free(&a);
}

void module_open_perf_map(module *m, const char *path, bool given, const module_opts *o)
{
    arena a = {.budget = o->max_memory ? o->max_memory : BUDGET};
    size_t most = o->max_memory ? o->max_memory : PERF_MAP_MAX;
    symbol_list l = {0};
    file_bytes f;
    *m = (module){.state = MODULE_NO_MAP};
    err e = {0};
    if (!(given ? file_read(path, 0, &f, &e)
                : rooted_read_path(o->dirs.root, path, most, &f, &e))) {
        if (e.code == ERR_LIMIT) m->state = MODULE_BROKEN;
        return;
    }
    if (symbols_of_perf_map(f.bytes, &a, &l, NULL) && module_take_symbols(m, &l, &a))
        m->path = strdup(path);
    else
        m->state = MODULE_BROKEN;
    file_release(&f);
    arena_free(&a);
}
