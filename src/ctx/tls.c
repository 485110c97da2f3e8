/* Finds thread-local variables of another process, for each TLS model, from the relocations that
 * its loader has processed. */
#include "ctx/tls.h"

#include "arch/tls.h"
#include "ctx/image.h"
#include "ctx/maps.h"
#include "base/text.h"
#include "base/ban.h"
#include <stdio.h>

enum { IMAGES = 4096, MODULES = 1 << 20 /* more than any process has */ };

typedef VEC(image) images;

/* ---- loaded objects ---- */

static bool is_file(const map_line *l) { return l->inode && l->name.n && l->name.p[0] == '/'; }

/* Returns whether a file is a loaded object: it is mapped from its first byte and has executable
 * mappings.  A file that is merely read has none. */
static bool is_loaded(str rest, const map_line *first)
{
    map_line l = *first;
    do {
        if (!is_file(&l) || !str_eq(l.name, first->name)) {
            if (l.name.n) break; /* the gaps of an object have no name */
            continue;
        }
        if (l.executable) return true;
    } while (maps_next(&rest, &l));
    return false;
}

/* The loader of musl is its C library.  Debian maps it as libc.so, to which ld-musl-*.so.1 is a
 * link; glibc never maps a file of that name. */
static bool is_musl(str name)
{
    str base = str_base_name(name);
    return str_starts(base, STR("ld-musl")) || str_eq(base, STR("libc.so"));
}

static bool load_images(const memory *m, str maps, arena *a, images *out, bool *musl, err *e)
{
    for (map_line l; maps_next(&maps, &l) && out->n < IMAGES;) {
        image o;
        if (!is_file(&l) || l.offset || !l.readable || !is_loaded(maps, &l)) continue;
        if (!image_read(m, l.name, l.start, &o)) continue;
        image *slot = vec_push(a, out);
        if (!slot)
            return err_set(e, ERR_MEMORY, "not enough memory for the list of objects of process %d",
                           m->pid);
        *slot = o;
        *musl |= is_musl(l.name);
    }
    return true;
}

/* ---- one definition ---- */

typedef struct search {
    const memory *m;
    const image *in; /* object whose relocations are searched */
    const char *symbol;
    uint32_t index;      /* index of the symbol in that object; 0: not defined there */
    const Elf64_Sym *of; /* the definition */
    tls_variable *out;
} search;

static bool concerns(const search *s, const Elf64_Rela *r)
{
    uint32_t index = (uint32_t)ELF64_R_SYM(r->r_info);
    if (index) return s->index ? index == s->index : image_is_named(s->m, s->in, index, s->symbol);
    return s->index != 0; /* bound at link time, so it refers to this object */
}

/* Reads a descriptor {resolver, argument}.  Static blocks are below the thread pointer on x86-64,
 * so a static argument is negative; otherwise it points to {module, offset}. */
static bool take_descriptor(search *s, uint64_t got, const Elf64_Rela *r)
{
    uint64_t arg, pair[2];
    if (!ELF64_R_SYM(r->r_info) && (uint64_t)r->r_addend != s->of->st_value) return false;
    if (!memory_u64(s->m, got + 8, &arg)) return false;
    *s->out = (tls_variable){.model = TLS_DESCRIPTOR, .is_static = (int64_t)arg < 0};
    s->out->offset = (int64_t)arg;
    if (s->out->is_static) return true;
    if (!memory_read(s->m, arg, pair, sizeof pair) || !pair[0] || pair[0] > MODULES) return false;
    s->out->module = pair[0];
    s->out->offset = (int64_t)pair[1];
    return true;
}

static bool take_module(search *s, uint64_t got, const Elf64_Rela *r)
{
    uint64_t pair[2];
    if (!memory_read(s->m, got, pair, sizeof pair) || !pair[0] || pair[0] > MODULES) return false;
    bool anonymous =
        !ELF64_R_SYM(r->r_info); /* the module is this object; the entry of any variable gives it */
    *s->out = (tls_variable){.model = TLS_GENERAL, .module = pair[0]};
    s->out->offset = (int64_t)(anonymous ? s->of->st_value : pair[1]);
    return true;
}

static bool take_initial(search *s, uint64_t got, const Elf64_Rela *r)
{
    uint64_t offset;
    if (!ELF64_R_SYM(r->r_info) && (uint64_t)r->r_addend != s->of->st_value) return false;
    if (!memory_u64(s->m, got, &offset)) return false;
    *s->out = (tls_variable){.model = TLS_INITIAL, .is_static = true, .offset = (int64_t)offset};
    return true;
}

static bool each_relocation(void *ctx, const Elf64_Rela *r)
{
    search *s = ctx;
    uint64_t got = s->in->bias + r->r_offset;
    switch (ELF64_R_TYPE(r->r_info)) {
    case ARCH_R_TLSDESC: return concerns(s, r) && take_descriptor(s, got, r);
    case ARCH_R_TLS_MODULE: return concerns(s, r) && take_module(s, got, r);
    case ARCH_R_TLS_OFFSET: return concerns(s, r) && take_initial(s, got, r);
    default: return false;
    }
}

/* Computes the offset in the program's block, which is the first below the thread pointer (in glibc
 * and musl). */
static void take_local(const image *o, const Elf64_Sym *sym, tls_variable *out)
{
    uint64_t align = o->tls.p_align ? o->tls.p_align : 1;
    uint64_t first = (0 - o->tls.p_vaddr) & (align - 1);
    uint64_t size = (o->tls.p_memsz - first + align - 1) / align * align + first;
    *out = (tls_variable){.model = TLS_LOCAL, .is_static = true};
    out->offset = (int64_t)(sym->st_value - size);
}

static bool search_object(const memory *m, const image *in, const char *symbol, uint32_t index,
                          const Elf64_Sym *of, tls_variable *out)
{
    search s = {m, in, symbol, index, of, out};
    return image_relocations(m, in, each_relocation, &s);
}

static bool place(const memory *m, const images *all, const image *o, const char *symbol,
                  uint32_t index, const Elf64_Sym *sym, tls_variable *out)
{
    if (search_object(m, o, symbol, index, sym, out)) return true;
    if (o->is_program && o->tls.p_type == PT_TLS) return take_local(o, sym, out), true;
    for (size_t i = 0; i < all->n; i++) /* a reference from another object */
        if (&all->v[i] != o && search_object(m, &all->v[i], symbol, 0, sym, out)) return true;
    return false;
}

static void keep(tls_variables *out, tls_variable v)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->v[i].is_static == v.is_static && out->v[i].offset == v.offset &&
            out->v[i].module == v.module)
            return;
    if (out->n < TLS_MAX)
        out->v[out->n++] = v;
    else
        out->n_lost++;
}

/* ---- all definitions ---- */

bool tls_find(const memory *m, str maps, const char *symbol, arena *a, tls_variables *out, err *e)
{
    if (!ARCH_TLS_OF_OTHERS)
        return err_set(e, ERR_UNSUPPORTED, "process %d: thread contexts can be read on x86-64 only",
                       m->pid);
    images all = {0};
    bool musl = false;
    *out = (tls_variables){0};
    if (!load_images(m, maps, a, &all, &musl, e)) return false;
    for (size_t i = 0; i < all.n; i++) {
        uint32_t index;
        Elf64_Sym sym;
        tls_variable v;
        if (!image_symbol(m, &all.v[i], symbol, &index, &sym)) continue;
        if (ELF64_ST_TYPE(sym.st_info) != STT_TLS) continue;
        if (!place(m, &all, &all.v[i], symbol, index, &sym, &v)) {
            out->n_lost++;
            continue;
        }
        v.object = all.v[i].name;
        v.musl = musl;
        keep(out, v);
    }
    return true;
}

/* The table of blocks: glibc has entries of 16 bytes, with their number in the entry before entry
 * 0; musl has entries of 8 bytes, with their number in entry 0. */
bool tls_address(const memory *m, const tls_variable *v, uint64_t tp, uint64_t *address)
{
    uint64_t table, count, block, size = v->musl ? 8 : 16;
    if (v->is_static) return *address = tp + (uint64_t)v->offset, true;
    if (!memory_u64(m, tp + ARCH_DTV, &table)) return false;
    if (!memory_u64(m, v->musl ? table : table - 16, &count) || v->module > count) return false;
    if (!memory_u64(m, table + v->module * size, &block)) return false;
    *address = block + (uint64_t)v->offset;
    return block && block != UINT64_MAX;
}

const char *tls_model_name(tls_model model)
{
    static const char *const names[] = {
        [TLS_DESCRIPTOR] = "tlsdesc",
        [TLS_GENERAL] = "general-dynamic",
        [TLS_INITIAL] = "initial-exec",
        [TLS_LOCAL] = "local-exec",
    };
    return names[model];
}
