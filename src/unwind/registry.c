#include "unwind/registry.h"

#include "unwind/cfi.h"
#include "base/hash.h"
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include "base/ban.h"

enum {
    MAX_BYTES = 8 << 20,
    SCRATCH_BYTES = 64 << 20, /* for compiling one object */
    COPY_BYTES = 8 << 20,     /* of .eh_frame at a time, beyond the first object */
};

#if defined(__aarch64__)
enum { MACHINE = CFI_AARCH64 };
#else
enum { MACHINE = CFI_X86_64 };
#endif

/* One object of the loader.  `o` is first: handlers see only that part. */
typedef struct entry {
    unwind_object o;
    uint64_t hash; /* of its .eh_frame: another object may come to lie at the same place */
    void *block;   /* the table's memory */
    size_t bytes;
    bool seen, without, over;
} entry;

typedef struct entries {
    entry **v;
    size_t n, cap;
} entries;

/* An object that is not known yet, with a copy of its .eh_frame. */
typedef struct pending {
    uintptr_t lo, hi, address;
    uint64_t hash;
    char *eh_frame;
    size_t n;
    struct pending *next;
} pending;

struct unwind_registry {
    _Alignas(64) unwind_door door; /* first, on a line of its own: handlers write it */
    _Alignas(64) entries live;
    entries gone; /* freed with the snapshots that know them */
    unwind_snapshot *retired;
    unsigned long long adds, subs;
    bool scanned;
    size_t max_bytes;
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
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- what the loader has ---- */

typedef struct scan {
    unwind_registry *r;
    pending *found;
    size_t copied;
    bool more;   /* stopped at COPY_BYTES */
    bool failed; /* no memory */
    unsigned long long adds, subs;
} scan;

typedef struct image {
    uintptr_t lo, hi; /* code */
    str eh_frame;     /* in place: readable while the loader's lock is held */
} image;

static str to_end_of_segment(const struct dl_phdr_info *i, uintptr_t at)
{
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        uintptr_t start = i->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_R && at >= start && at - start < p->p_filesz)
            return (str){(const char *)at, p->p_filesz - (at - start)};
    }
    return (str){"", 0};
}

static bool image_of(const struct dl_phdr_info *i, image *m)
{
    *m = (image){.lo = UINTPTR_MAX, .eh_frame = STR("")};
    uintptr_t hdr = 0;
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        uintptr_t start = i->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME) hdr = start;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        if (start < m->lo) m->lo = start;
        if (start + p->p_memsz > m->hi) m->hi = start + p->p_memsz;
    }
    uint64_t at;
    str s = to_end_of_segment(i, hdr);
    if (hdr && s.n && cfi_find(s, hdr, &at)) {
        s = to_end_of_segment(i, (uintptr_t)at);
        m->eh_frame = (str){s.p, cfi_length(s)};
    }
    return m->lo < m->hi;
}

static entry *known(const unwind_registry *r, const image *m, uint64_t hash)
{
    for (size_t i = 0; i < r->live.n; i++) {
        entry *x = r->live.v[i];
        if (x->o.lo == m->lo && x->o.hi == m->hi && x->hash == hash) return x;
    }
    return NULL;
}

static bool take_copy(scan *s, const image *m, uint64_t hash)
{
    pending *p = calloc(1, sizeof *p);
    char *copy = p ? malloc(m->eh_frame.n + 1) : NULL;
    if (!copy) {
        free(p);
        return false;
    }
    memcpy(copy, m->eh_frame.p, m->eh_frame.n);
    *p = (pending){m->lo, m->hi, (uintptr_t)m->eh_frame.p, hash, copy, m->eh_frame.n, s->found};
    s->found = p;
    s->copied += m->eh_frame.n;
    return true;
}

static void visit(scan *s, const struct dl_phdr_info *i)
{
    image m;
    if (!image_of(i, &m)) return;
    uint64_t hash = hash_bytes(m.eh_frame.p, m.eh_frame.n, 0);
    entry *x = known(s->r, &m, hash);
    if (x)
        x->seen = true;
    else if (s->found && s->copied + m.eh_frame.n > COPY_BYTES)
        s->more = true;
    else if (!take_copy(s, &m, hash))
        s->failed = true;
}

static void counts_of(scan *s, const struct dl_phdr_info *i, size_t size)
{
    if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof i->dlpi_subs) return;
    s->adds = i->dlpi_adds;
    s->subs = i->dlpi_subs;
}

static int on_object(struct dl_phdr_info *i, size_t size, void *p)
{
    scan *s = p;
    counts_of(s, i, size);
    visit(s, i);
    return s->failed;
}

static int on_first(struct dl_phdr_info *i, size_t size, void *p)
{
    counts_of(p, i, size);
    return 1;
}

/* The kernel's own object, where the loader does not list it. */
static void visit_vdso(scan *s)
{
    uintptr_t base = getauxval(AT_SYSINFO_EHDR);
    if (!base) return;
    const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)base;
    struct dl_phdr_info i = {.dlpi_addr = base,
                             .dlpi_phdr = (const ElfW(Phdr) *)(base + h->e_phoff),
                             .dlpi_phnum = h->e_phnum};
    image m;
    if (!image_of(&i, &m)) return;
    for (const pending *p = s->found; p; p = p->next)
        if (p->lo == m.lo) return;
    visit(s, &i);
}

/* ---- compiling ---- */

/* Into one block of its own: the arena's pieces had to be guessed, and go. */
static bool settle(unwind_registry *r, entry *x, const unwind_table *t)
{
    size_t rows = t->n_rows * sizeof *t->rows, buckets = t->n_buckets * sizeof *t->buckets,
           wide = t->n_wide * sizeof *t->wide, bytes = rows + buckets + wide;
    x->o.table = (unwind_table){.base = t->base};
    if (!bytes) return true;
    if (bytes > r->max_bytes - r->n.bytes) {
        x->over = true;
        return true;
    }
    char *p = map(bytes);
    if (!p) return false;
    x->block = p;
    x->bytes = bytes;
    x->o.table = *t;
    x->o.table.rows = memcpy(p, t->rows, rows);
    x->o.table.wide = memcpy(p + rows, t->wide, wide);
    x->o.table.buckets = memcpy(p + rows + wide, t->buckets, buckets);
    r->n.bytes += bytes;
    return true;
}

static bool compile(unwind_registry *r, const pending *p)
{
    entry *x = calloc(1, sizeof *x);
    if (!x) return false;
    x->o.lo = p->lo;
    x->o.hi = p->hi;
    x->hash = p->hash;
    x->seen = true;
    cfi_source s = {{p->eh_frame, p->n}, p->address, p->lo, p->hi, MACHINE};
    arena a = {.budget = SCRATCH_BYTES};
    unwind_table t;
    bool ok = cfi_compile(&s, &a, &t, NULL, NULL);
    if (!ok) t = (unwind_table){.base = p->lo};
    x->without = !t.n_rows;
    ok = settle(r, x, &t) && entries_push(&r->live, x);
    arena_free(&a);
    if (!ok) entry_free(x);
    return ok;
}

static bool compile_all(scan *s)
{
    for (pending *p = s->found, *next; p; p = next) {
        next = p->next;
        if (!s->failed && !compile(s->r, p)) s->failed = true;
        free(p->eh_frame);
        free(p);
    }
    s->found = NULL;
    return !s->failed;
}

static bool scan_all(unwind_registry *r, err *e)
{
    scan s = {.r = r};
    for (size_t i = 0; i < r->live.n; i++) r->live.v[i]->seen = false;
    do {
        s.more = false;
        s.copied = 0;
        dl_iterate_phdr(on_object, &s);
        if (!s.more) visit_vdso(&s);
        if (!compile_all(&s)) return err_set(e, ERR_LIMIT, "no memory for unwind tables");
    } while (s.more);
    r->adds = s.adds;
    r->subs = s.subs;
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
    for (size_t i = 0; i < r->live.n; i++)
        if (r->live.v[i]->seen) s->objects[s->n_objects++] = &r->live.v[i]->o;
    return s;
}

/* See snapshot.h: what was replaced may go when nobody looks. */
static void reclaim(unwind_registry *r)
{
    if (!r->retired || atomic_load(&r->door.readers)) return;
    for (unwind_snapshot *s = r->retired, *next; s; s = next) {
        next = s->retired;
        munmap(s, s->bytes);
    }
    r->retired = NULL;
    r->n.waiting = 0;
    for (size_t i = 0; i < r->gone.n; i++) r->n.bytes -= r->gone.v[i]->bytes;
    entries_free(&r->gone);
}

/* Entries that the loader no longer has leave the list. */
static bool part(unwind_registry *r)
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
    r->n.objects = r->n.without = r->n.over_budget = 0;
    r->n.rows = 0;
    for (size_t i = 0; i < r->live.n; i++) {
        const entry *x = r->live.v[i];
        r->n.objects++;
        r->n.without += x->without;
        r->n.over_budget += x->over;
        r->n.rows += x->o.table.n_rows;
    }
}

static bool publish(unwind_registry *r, err *e)
{
    qsort(r->live.v, r->live.n, sizeof(entry *), by_address);
    unwind_snapshot *s = make_snapshot(r);
    if (!s) return err_set(e, ERR_LIMIT, "no memory for a snapshot of the loaded objects");
    unwind_snapshot *old = atomic_exchange(&r->door.current, s);
    if (old) {
        old->retired = r->retired;
        r->retired = old;
        r->n.waiting++;
    }
    r->n.snapshots++;
    if (!part(r)) return err_set(e, ERR_LIMIT, "no memory for the list of unloaded objects");
    count(r);
    reclaim(r);
    return true;
}

bool registry_refresh(unwind_registry *r, err *e)
{
    scan s = {.r = r};
    reclaim(r);
    dl_iterate_phdr(on_first, &s);
    if (r->scanned && s.adds == r->adds && s.subs == r->subs) return true;
    return scan_all(r, e) && publish(r, e);
}

/* From malloc, though handlers look at it: what it points to would be a leak to a sanitizer of the program's
 * that does not look into other mappings. */
unwind_registry *registry_open(const registry_opts *opts, err *e)
{
    unwind_registry *r = aligned_alloc(_Alignof(unwind_registry), sizeof *r);
    if (!r) {
        err_set(e, ERR_LIMIT, "no memory for the registry of objects");
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->max_bytes = opts && opts->max_bytes ? opts->max_bytes : MAX_BYTES;
    return r;
}

void registry_close(unwind_registry *r)
{
    if (!r) return;
    unwind_snapshot *s = atomic_exchange(&r->door.current, NULL);
    if (s) {
        s->retired = r->retired;
        r->retired = s;
    }
    registry_forked(r);
    reclaim(r);
    entries_free(&r->live);
    free(r);
}

void registry_forked(unwind_registry *r) { atomic_store(&r->door.readers, 0); }

unwind_door *registry_door(unwind_registry *r) { return &r->door; }

registry_counts registry_count(const unwind_registry *r) { return r->n; }

unwind_stack unwind_stack_here(void)
{
    pthread_attr_t a;
    void *lo;
    size_t n;
    if (pthread_getattr_np(pthread_self(), &a) != 0) return (unwind_stack){0};
    bool ok = pthread_attr_getstack(&a, &lo, &n) == 0;
    pthread_attr_destroy(&a);
    return ok ? (unwind_stack){(uintptr_t)lo, (uintptr_t)lo + n} : (unwind_stack){0};
}
