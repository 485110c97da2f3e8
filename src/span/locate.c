/* Finds otel_thread_ctx_v1 in the loaded objects.
 *
 * Reads the tables of the objects inside dl_iterate_phdr.  It does not use dlsym, which needs a
 * handle from dlopen.  While the program starts or ends, glibc's dlopen of a loaded object may run
 * the object's constructors in the calling thread. */
#include "span/peek.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

static const char symbol[] = "otel_thread_ctx_v1";

static uintptr_t thread_pointer(void) { return (uintptr_t)__builtin_thread_pointer(); }

/* ---- dynamic symbols of an object ---- */

typedef struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    size_t n_strings;
    const uint32_t *gnu_hash, *hash;
    bool stays; /* linked so that it cannot be unloaded */
} tables;

/* Returns the absolute address for one in the dynamic section.  glibc has added the base to it
 * where the section is writable; musl and the vdso have not. */
static uintptr_t placed(const struct dl_phdr_info *o, ElfW(Addr) a)
{
    return a < o->dlpi_addr ? o->dlpi_addr + a : a;
}

static bool read_tables(const struct dl_phdr_info *o, tables *t)
{
    const ElfW(Dyn) *d = NULL;
    for (size_t i = 0; i < o->dlpi_phnum; i++)
        if (o->dlpi_phdr[i].p_type == PT_DYNAMIC)
            d = (const ElfW(Dyn) *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr);
    for (; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = placed(o, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB) t->symbols = (const ElfW(Sym) *)at;
        if (d->d_tag == DT_STRTAB) t->strings = (const char *)at;
        if (d->d_tag == DT_STRSZ) t->n_strings = d->d_un.d_val;
        if (d->d_tag == DT_GNU_HASH) t->gnu_hash = (const uint32_t *)at;
        if (d->d_tag == DT_HASH) t->hash = (const uint32_t *)at;
        if (d->d_tag == DT_FLAGS_1) t->stays = d->d_un.d_val & DF_1_NODELETE;
    }
    return t->symbols && t->strings && (t->gnu_hash || t->hash);
}

static bool is_it(const tables *t, uint32_t i)
{
    const ElfW(Sym) *s = &t->symbols[i];
    return s->st_name < t->n_strings && t->n_strings - s->st_name >= sizeof symbol &&
           s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_TLS &&
           !memcmp(t->strings + s->st_name, symbol, sizeof symbol);
}

/* Searches DT_GNU_HASH: number of buckets, first symbol, words of the filter, shift; the filter;
 * buckets; chains, whose last word has bit 0 set. */
static const ElfW(Sym) * by_gnu_hash(const tables *t)
{
    const uint32_t *h = t->gnu_hash;
    const uint32_t *buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / sizeof *h);
    const uint32_t *chains = buckets + h[0];
    uint32_t want = 5381;
    for (const char *c = symbol; *c; c++) want = want * 33 + (unsigned char)*c;
    uint32_t i = h[0] ? buckets[want % h[0]] : 0;
    if (i < h[1] || !i) return NULL;
    for (;; i++) {
        if ((chains[i - h[1]] | 1) == (want | 1) && is_it(t, i)) return &t->symbols[i];
        if (chains[i - h[1]] & 1) return NULL;
    }
}

/* Searches all symbols; the second word of DT_HASH is their number. */
static const ElfW(Sym) * by_hash(const tables *t)
{
    for (uint32_t i = 1; i < t->hash[1]; i++)
        if (is_it(t, i)) return &t->symbols[i];
    return NULL;
}

/* ---- location ---- */

/* Stops at the first object in the loader's order that defines the variable, as for a reference
 * from the program. */
static int search_object(struct dl_phdr_info *o, size_t size, void *arg)
{
    span_place *place = arg;
    tables t = {0};
    (void)size;
    if (!o->dlpi_tls_modid || !read_tables(o, &t)) return 0;
    const ElfW(Sym) *s = t.gnu_hash ? by_gnu_hash(&t) : by_hash(&t);
    if (!s) return 0;
    *place = (span_place){.kind = SPAN_DYNAMIC,
                          .offset = (int64_t)s->st_value,
                          .module = o->dlpi_tls_modid,
                          .stays = t.stays || !*o->dlpi_name}; /* the program has no name */
    return 1;
}

/* ---- static or dynamic block ---- */

typedef struct probe {
    size_t module;
    uintptr_t distance;
} probe;

static int search_block(struct dl_phdr_info *o, size_t size, void *arg)
{
    probe *p = arg;
    (void)size;
    if (o->dlpi_tls_modid != p->module) return 0;
    if (o->dlpi_tls_data) p->distance = (uintptr_t)o->dlpi_tls_data - thread_pointer();
    return 1;
}

static void *locate_from_thread(void *arg)
{
    dl_iterate_phdr(search_block, arg);
    return NULL;
}

/* Returns the offset of a module's block that every thread has; 0: not every thread has it.  Starts
 * a thread, which has not used any variable yet: a block that it has is part of every thread.  The
 * calling thread does not show this, because it may have used the variable or be older than the
 * module. */
static uintptr_t distance_in_all(size_t module)
{
    probe p = {.module = module};
    pthread_t t;
    if (pthread_create(&t, NULL, locate_from_thread, &p) == 0) pthread_join(t, NULL);
    return p.distance;
}

span_place span_locate(void)
{
    span_place place = {0};
    dl_iterate_phdr(search_object, &place);
    uintptr_t distance = place.kind == SPAN_DYNAMIC ? distance_in_all(place.module) : 0;
    if (!distance) return place;
    place.kind = SPAN_STATIC;
    place.offset += (int64_t)distance;
    return place;
}
