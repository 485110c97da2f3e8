/* Tracks the objects that the loader has mapped and publishes snapshots of them for handlers.
 * This is the only file of the unwinder that allocates and calls the loader.  Replaced snapshots
 * and unloaded objects are freed later, when no handler reads them (snapshot.h). */
#include "unwind/registry.h"

#include "arch/machine.h"
#include "unwind/cfi.h"
#include "base/hash.h"
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "base/ban.h"

enum {
    MAX_BYTES = 64 << 20,
    SCRATCH_BYTES = 64 << 20, /* minimum budget for compiling one object */
    FUNCTION_BYTES = 18,      /* minimum table size of a function: a row and its end */
};

/* One object of the loader.  `o` comes first, because handlers see only that part. */
typedef struct entry {
    unwind_object o;
    /* Hash of its build id or name: another object may later have the same address. */
    uint64_t id;
    unwind_table table;
    void *block; /* memory of the table */
    size_t bytes;
    bool seen, tried, over;
} entry;

typedef struct entries {
    entry **v;
    size_t n, cap;
} entries;

struct unwind_registry {
    _Alignas(64) unwind_gate gate; /* first, on its own cache line, because handlers write it */
    _Alignas(64) entries live;
    entries gone; /* freed together with the snapshots that refer to them */
    unwind_snapshot *retired;
    unsigned long long adds, subs;
    const void *loader; /* struct r_debug */
    bool scanned;
    registry_opts o;
    registry_counts n;
};

/* ---- lists ---- */

static bool entries_push(entries *l, entry *x)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 32;
        entry **v = realloc(l->v, cap * sizeof(entry *));
        if (!v) return false;
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = x;
    return true;
}

static void entry_free(entry *x)
{
    if (x->block) munmap(x->block, x->bytes);
    free(x);
}

static void entries_free(entries *l)
{
    for (size_t i = 0; i < l->n; i++) entry_free(l->v[i]);
    free(l->v);
    *l = (entries){0};
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- scanning the loader's list ---- */

typedef struct scan {
    unwind_registry *r;
    bool failed; /* out of memory */
    bool lost;   /* objects were unloaded since the last scan */
    unsigned long long adds, subs;
} scan;

static object_source source_of(const unwind_registry *r, const struct dl_phdr_info *i)
{
    return (object_source){.phdr = i->dlpi_phdr,
                           .n_phdr = i->dlpi_phnum,
                           .bias = i->dlpi_addr,
                           .machine = ARCH_MACHINE,
                           .unloadable = r->scanned || r->o.late};
}

/* Returns a hash of the build id if the object has one, otherwise of its name. */
static uint64_t id_of(const struct dl_phdr_info *i)
{
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        str notes = {(const char *)(i->dlpi_addr + p->p_vaddr), p->p_filesz};
        if (p->p_type != PT_NOTE || p->p_align != 4) continue;
        for (rd r = rd_of(notes, false); rd_left(&r) >= 12;) {
            uint32_t name = rd_u32(&r), n = rd_u32(&r), type = rd_u32(&r);
            rd_skip(&r, ((uint64_t)name + 3) & ~UINT64_C(3));
            if (type == NT_GNU_BUILD_ID && name == 4 && n <= rd_left(&r))
                return hash_bytes(r.p, n, 0);
            rd_skip(&r, ((uint64_t)n + 3) & ~UINT64_C(3));
        }
    }
    const char *name = i->dlpi_name ? i->dlpi_name : "";
    return hash_bytes(name, strlen(name), 1);
}

static entry *known(const unwind_registry *r, const unwind_object *o, uint64_t id)
{
    for (size_t i = 0; i < r->live.n; i++) {
        entry *x = r->live.v[i];
        if (x->o.lo == o->lo && x->o.hi == o->hi && x->id == id) return x;
    }
    return NULL;
}

/* Adds or updates one object.  The loader's lock is held, so the object cannot be unloaded and
 * pages need no check. */
static void visit(scan *s, const struct dl_phdr_info *i)
{
    unwind_object o;
    object_source source = source_of(s->r, i);
    bool unloadable = source.unloadable;
    source.unloadable = false;
    if (!object_open(&source, &o)) return;
    uint64_t id = id_of(i);
    entry *x = known(s->r, &o, id);
    if (!x && (x = calloc(1, sizeof *x))) {
        memcpy(&x->o, &o, sizeof o);
        x->o.unloadable = unloadable;
        x->id = id;
        if (!entries_push(&s->r->live, x)) {
            free(x);
            x = NULL;
        }
    }
    if (x)
        x->seen = true;
    else
        s->failed = true;
}

static void counts_of(scan *s, const struct dl_phdr_info *i, size_t size)
{
    if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof i->dlpi_subs) return;
    s->adds = i->dlpi_adds;
    s->subs = i->dlpi_subs;
}

/* Finds the loader's list, to which DT_DEBUG of the program, the first object, points. */
static void find_loader(unwind_registry *r, const struct dl_phdr_info *i)
{
    for (size_t k = 0; k < i->dlpi_phnum && !r->loader; k++) {
        if (i->dlpi_phdr[k].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(i->dlpi_addr + i->dlpi_phdr[k].p_vaddr);
        for (; d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_DEBUG) r->loader = (const void *)(uintptr_t)d->d_un.d_ptr;
    }
}

static int on_object(struct dl_phdr_info *i, size_t size, void *p)
{
    scan *s = p;
    if (!s->r->scanned && !s->adds) find_loader(s->r, i);
    counts_of(s, i, size);
    visit(s, i);
    return s->failed;
}

static int on_first(struct dl_phdr_info *i, size_t size, void *p)
{
    counts_of(p, i, size);
    return 1;
}

/* Adds the vDSO where the loader does not list it. */
static void visit_vdso(scan *s)
{
    uintptr_t base = getauxval(AT_SYSINFO_EHDR);
    if (!base) return;
    for (size_t i = 0; i < s->r->live.n; i++) {
        const entry *x = s->r->live.v[i];
        if (x->seen && x->o.hi > base && x->o.lo < base + 4096) return;
    }
    const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)base;
    visit(s, &(struct dl_phdr_info){.dlpi_addr = base,
                                    .dlpi_name = "[vdso]",
                                    .dlpi_phdr = (const ElfW(Phdr) *)(base + h->e_phoff),
                                    .dlpi_phnum = h->e_phnum});
}

static bool scan_all(unwind_registry *r, scan *s, err *e)
{
    for (size_t i = 0; i < r->live.n; i++) r->live.v[i]->seen = false;
    dl_iterate_phdr(on_object, s);
    if (!s->failed) visit_vdso(s);
    if (s->failed) return err_set(e, ERR_MEMORY, "no memory for the list of loaded objects");
    s->lost = s->subs != r->subs;
    r->adds = s->adds;
    r->subs = s->subs;
    r->scanned = true;
    return true;
}

/* ---- publishing ---- */

static int by_address(const void *x, const void *y)
{
    const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
    return a->o.lo < b->o.lo ? -1 : a->o.lo > b->o.lo;
}

static unwind_snapshot *make_snapshot(const unwind_registry *r)
{
    size_t bytes = sizeof(unwind_snapshot) + r->live.n * sizeof(unwind_object *);
    unwind_snapshot *s = map(bytes);
    if (!s) return NULL;
    s->bytes = bytes;
    s->loader = r->o.passive ? NULL : r->loader;
    for (size_t i = 0; i < r->live.n; i++)
        if (r->live.v[i]->seen) s->objects[s->n_objects++] = &r->live.v[i]->o;
    return s;
}

/* Copies the cached rules, which stay valid as long as nothing is unloaded.  Handlers may still be
 * adding rules: a word of the cache is written atomically, and a wide rule is complete before a
 * word refers to it.
 * */
static void copy_cache(unwind_snapshot *s, unwind_snapshot *old)
{
    for (size_t i = 0; i < CACHE_SLOTS; i++) {
        uint64_t v = atomic_load_explicit(&old->cache[i], memory_order_acquire);
        if (v) atomic_store_explicit(&s->cache[i], v, memory_order_relaxed);
    }
    uint32_t n = atomic_load_explicit(&old->n_wide, memory_order_relaxed);
    s->n_wide = n < WIDE_SLOTS ? n : WIDE_SLOTS;
    for (uint32_t i = 0; i < s->n_wide; i++) {
        if (!atomic_load_explicit(&old->wide[i].ready, memory_order_acquire)) continue;
        s->wide[i].rule = old->wide[i].rule;
        s->wide[i].ready = 1;
    }
}

/* Frees replaced snapshots when no handler reads one (snapshot.h). */
static void reclaim(unwind_registry *r)
{
    if (!r->retired || atomic_load(&r->gate.readers)) return;
    for (unwind_snapshot *s = r->retired, *next; s; s = next) {
        next = s->retired;
        munmap(s, s->bytes);
    }
    r->retired = NULL;
    r->n.waiting = 0;
    for (size_t i = 0; i < r->gone.n; i++) r->n.bytes -= r->gone.v[i]->bytes;
    entries_free(&r->gone);
}

/* Moves entries that the loader no longer lists to `gone`. */
static bool drop_unloaded(unwind_registry *r)
{
    size_t kept = 0, i = 0;
    bool ok = true;
    for (; i < r->live.n; i++) {
        entry *x = r->live.v[i];
        if (x->seen || !(ok = ok && entries_push(&r->gone, x))) r->live.v[kept++] = x;
    }
    r->live.n = kept;
    return ok;
}

static void count(unwind_registry *r)
{
    r->n.objects = r->n.without = r->n.over_budget = r->n.compiled = 0;
    r->n.rows = 0;
    for (size_t i = 0; i < r->live.n; i++) {
        const entry *x = r->live.v[i];
        r->n.objects++;
        r->n.without += !x->o.hdr.n && !x->table.n_rows;
        r->n.over_budget += x->over;
        r->n.compiled += x->table.n_rows > 0;
        r->n.rows += x->table.n_rows;
    }
}

static bool publish(unwind_registry *r, bool lost, err *e)
{
    qsort(r->live.v, r->live.n, sizeof(entry *), by_address);
    unwind_snapshot *s = make_snapshot(r);
    if (!s) return err_set(e, ERR_MEMORY, "no memory for a snapshot of the loaded objects");
    unwind_snapshot *old = atomic_load(&r->gate.current);
    if (old && !lost) copy_cache(s, old);
    atomic_store(&r->gate.current, s);
    if (old) {
        old->retired = r->retired;
        r->retired = old;
        r->n.waiting++;
    }
    r->n.snapshots++;
    if (!drop_unloaded(r))
        return err_set(e, ERR_MEMORY, "no memory for the list of unloaded objects");
    count(r);
    reclaim(r);
    return true;
}

/* ---- tables ---- */

/* Copies the table to a block of its own: the arena's blocks are larger than needed. */
static bool store_table(unwind_registry *r, entry *x, const unwind_table *t)
{
    size_t rows = t->n_rows * sizeof *t->rows, buckets = t->n_buckets * sizeof *t->buckets,
           wide = t->n_wide * sizeof *t->wide, bytes = rows + buckets + wide;
    if (!t->n_rows) return true;
    if (bytes > r->o.max_bytes - r->n.bytes) {
        x->over = true;
        return true;
    }
    char *p = map(bytes);
    if (!p) return false;
    x->block = p;
    x->bytes = bytes;
    x->table = *t;
    x->table.rows = memcpy(p, t->rows, rows);
    x->table.wide = memcpy(p + rows, t->wide, wide);
    x->table.buckets = memcpy(p + rows + wide, t->buckets, buckets);
    r->n.bytes += bytes;
    atomic_store_explicit(&x->o.table, &x->table,
                          memory_order_release); /* pairs with walk_rule() */
    return true;
}

/* Copies the .eh_frame of an object that may be unloaded, under the loader's lock. */
typedef struct copier {
    const unwind_registry *r;
    const entry *x;
    object_index index;
    char *bytes;
    size_t n;
    bool failed;
} copier;

static int on_copied(struct dl_phdr_info *i, size_t size, void *p)
{
    copier *c = p;
    unwind_object o;
    object_source source = source_of(c->r, i);
    (void)size;
    source.unloadable = false;
    if (!object_open(&source, &o) || o.lo != c->x->o.lo || o.hi != c->x->o.hi ||
        id_of(i) != c->x->id)
        return 0;
    if (!object_read_index(&o, &c->index)) return 1;
    const unwind_bytes *f = &c->index.eh_frame;
    c->n = cfi_length((str){(const char *)f->p, f->n});
    c->bytes = malloc(c->n + 1);
    c->failed = !c->bytes;
    if (c->bytes) memcpy(c->bytes, f->p, c->n);
    return 1;
}

static bool compile_bytes(unwind_registry *r, entry *x, const object_index *index, str eh_frame)
{
    cfi_source s = {eh_frame, index->eh_frame.at, x->o.lo, x->o.hi, ARCH_MACHINE};
    size_t scratch = 2 * r->o.max_bytes;
    arena a = {.budget = scratch < SCRATCH_BYTES ? SCRATCH_BYTES : scratch};
    unwind_table t;
    err why = {0};
    bool ok = true;
    if (index->n_search > (r->o.max_bytes - r->n.bytes) / FUNCTION_BYTES)
        x->over = true;
    else if (cfi_compile(&s, &a, &t, NULL, &why))
        ok = store_table(r, x, &t);
    else
        x->over = err_exhausted(&why);
    arena_free(&a);
    return ok;
}

static bool compile(unwind_registry *r, entry *x)
{
    x->tried = true;
    copier c = {.r = r, .x = x};
    if (x->o.unloadable) {
        dl_iterate_phdr(on_copied, &c);
    } else if (object_read_index(&x->o, &c.index)) {
        const unwind_bytes *f = &c.index.eh_frame;
        return compile_bytes(r, x, &c.index, (str){(const char *)f->p, f->n});
    }
    bool ok = !c.failed && (!c.bytes || compile_bytes(r, x, &c.index, (str){c.bytes, c.n}));
    free(c.bytes);
    return ok;
}

static bool compile_where(unwind_registry *r, uint32_t hits, err *e)
{
    bool ok = true, any = false;
    for (size_t i = 0; ok && i < r->live.n; i++) {
        entry *x = r->live.v[i];
        if (x->tried || atomic_load_explicit(&x->o.hits, memory_order_relaxed) < hits) continue;
        ok = compile(r, x);
        any = true;
    }
    if (any) count(r);
    return ok || err_set(e, ERR_MEMORY, "no memory for unwind tables");
}

bool registry_compile(unwind_registry *r, err *e) { return compile_where(r, REGISTRY_HOT, e); }

bool registry_compile_all(unwind_registry *r, err *e) { return compile_where(r, 0, e); }

/* ---- the registry ---- */

bool registry_refresh(unwind_registry *r, err *e)
{
    scan s = {.r = r};
    reclaim(r);
    dl_iterate_phdr(on_first, &s);
    if (r->scanned && s.adds == r->adds && s.subs == r->subs) return true;
    s = (scan){.r = r};
    return scan_all(r, &s, e) && publish(r, s.lost, e);
}

/* The registry is allocated with malloc although handlers read it: a leak checker of the program
 * does not scan other mappings and would report everything that it points to as leaked. */
unwind_registry *registry_open(const registry_opts *opts, err *e)
{
    unwind_registry *r = aligned_alloc(_Alignof(unwind_registry), sizeof *r);
    if (!r) {
        err_set(e, ERR_MEMORY, "no memory for the registry of objects");
        return NULL;
    }
    memset(r, 0, sizeof *r);
    if (opts) memcpy(&r->o, opts, opts->size < sizeof r->o ? opts->size : sizeof r->o);
    if (!r->o.max_bytes) r->o.max_bytes = MAX_BYTES;
    return r;
}

void registry_close(unwind_registry *r)
{
    if (!r) return;
    unwind_snapshot *s = atomic_exchange(&r->gate.current, NULL);
    if (s) {
        s->retired = r->retired;
        r->retired = s;
    }
    registry_forked(r);
    reclaim(r);
    entries_free(&r->live);
    free(r);
}

void registry_forked(unwind_registry *r) { atomic_store(&r->gate.readers, 0); }

unwind_gate *registry_gate(unwind_registry *r) { return &r->gate; }

registry_counts registry_count(const unwind_registry *r) { return r->n; }

/* Returns the main thread's stack, for which libc would read all of /proc/self/maps.  It ends just
 * above the name of the program, which the kernel stores first.  The kernel reserves space below
 * for the stack limit, at least 128 MiB. */
static unwind_stack first_stack(void)
{
    enum { PAGE = 4096, LEAST_GAP = 128 << 20 };
    const char *last = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    struct rlimit l;
    if (!last || getrlimit(RLIMIT_STACK, &l) != 0) return (unwind_stack){0};
    uintptr_t hi = ((uintptr_t)last + strlen(last) + 1 + 8 + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return (unwind_stack){hi - (l.rlim_cur < LEAST_GAP ? l.rlim_cur : LEAST_GAP), hi};
}

unwind_stack unwind_stack_here(void)
{
    pthread_attr_t a;
    void *lo;
    size_t n;
    unwind_stack first = first_stack();
    if ((uintptr_t)&a >= first.lo && (uintptr_t)&a < first.hi) return first;
    if (pthread_getattr_np(pthread_self(), &a) != 0) return (unwind_stack){0};
    bool ok = pthread_attr_getstack(&a, &lo, &n) == 0;
    pthread_attr_destroy(&a);
    return ok ? (unwind_stack){(uintptr_t)lo, (uintptr_t)lo + n} : (unwind_stack){0};
}
