/* Compiles unwind tables into memory that BPF programs read, and evicts the least recently used.
 *
 * A table takes one extent of the words.  Extents are kept in order of address, and the first gap
 * that is large enough is used.  Before words are reused, the store waits until no walk can still
 * read them. */
#include "record/tables.h"

#include "base/hash.h"
#include "base/time.h"
#include "base/vec.h"
#include "collect/object_file.h"
#include "unwind/cfi.h"
#include "unwind/object.h"

#include <stdlib.h>
#include <time.h>
#include "base/ban.h"

enum {
    IDLE_S = 2, /* a table that was used in the last two seconds is not evicted */
    /* A table that was evicted or did not fit is not compiled again before this time, because all
     * code of a busy machine may not fit, and compiling would take more time than it saves. */
    RETRY_S = 20,
    COMPILE_BYTES =
        40 << 20, /* memory of the compiler; walks through larger files are handed over */
};

typedef struct table_file {
    table_key key;
    uint32_t refs;
    uint32_t n_rows;
    uint32_t tried; /* when it was last compiled; 0: never */
    bool unusable;  /* .eh_frame is not understood, or Go's own table has the rules:
                    * walks are always handed over */
} table_file;

typedef struct table_extent {
    size_t first, n; /* words */
    uint32_t slot;
} table_extent;

struct table_store {
    table_memory m;
    arena a;
    VEC(table_file) files;     /* by slot */
    VEC(table_extent) extents; /* in order of address */
    hash_index index;          /* of files, by key */
    table_counts n;
};

table_store *table_store_open(const table_memory *m, err *e)
{
    table_store *t = calloc(1, sizeof *t);
    if (!t) {
        err_memory(e);
        return NULL;
    }
    t->m = *m;
    return t;
}

void table_store_close(table_store *t)
{
    if (!t) return;
    arena_free(&t->a);
    free(t);
}

table_counts table_count(const table_store *t) { return t->n; }

bool table_loaded(const table_store *t, uint32_t handle)
{
    return handle < t->files.n && t->m.slots[handle].state == BPF_TABLE_READY;
}

void table_keep(table_store *t, uint32_t handle)
{
    if (handle < t->files.n) t->files.v[handle].refs++;
}

void table_release(table_store *t, uint32_t handle)
{
    if (handle < t->files.n && t->files.v[handle].refs) t->files.v[handle].refs--;
}

/* ---- words ---- */

/* Returns the position in extents[] at which an extent of n words fits, and sets *first. */
static bool find_gap(const table_store *t, size_t n, size_t *at, size_t *first)
{
    *first = 0;
    for (*at = 0; *at < t->extents.n; ++*at) {
        const table_extent *x = &t->extents.v[*at];
        if (x->first - *first >= n) return true;
        *first = x->first + x->n;
    }
    return t->m.n_words - *first >= n;
}

static void remove_extent(table_store *t, size_t i)
{
    table_extent *v = t->extents.v;
    t->n.bytes -= 8 * v[i].n;
    t->n.rows -= t->files.v[v[i].slot].n_rows;
    t->n.loaded--;
    memmove(&v[i], &v[i + 1], (t->extents.n - i - 1) * sizeof *v);
    t->extents.n--;
}

static void remove_table(table_store *t, uint32_t slot)
{
    size_t i = 0;
    while (i < t->extents.n && t->extents.v[i].slot != slot) i++;
    if (i < t->extents.n) remove_extent(t, i);
}

/* Evicts the table that was not used for the longest time.  Returns false when all are in use. */
static bool evict(table_store *t, uint32_t now)
{
    size_t oldest = t->extents.n;
    uint32_t used = UINT32_MAX;
    for (size_t i = 0; i < t->extents.n; i++) {
        uint32_t u = __atomic_load_n(&t->m.slots[t->extents.v[i].slot].used, __ATOMIC_RELAXED);
        if (u + IDLE_S < now && u < used) oldest = i, used = u;
    }
    if (oldest == t->extents.n) return false;
    __atomic_store_n(&t->m.slots[t->extents.v[oldest].slot].state, BPF_TABLE_ABSENT,
                     __ATOMIC_SEQ_CST);
    remove_extent(t, oldest);
    t->n.evicted++;
    return true;
}

/* Reserves n words for a slot.  Returns false when they do not fit. */
static bool reserve(table_store *t, size_t n, uint32_t slot, uint32_t now, size_t *first)
{
    size_t at;
    bool waited = true;
    while (!find_gap(t, n, &at, first)) {
        if (n > t->m.n_words || !evict(t, now)) break;
        waited = false;
    }
    if (!waited) t->m.grace(t->m.ctx);
    if (!find_gap(t, n, &at, first) || !vec_push(&t->a, &t->extents)) return false;
    table_extent *v = t->extents.v;
    memmove(&v[at + 1], &v[at], (t->extents.n - 1 - at) * sizeof *v);
    v[at] = (table_extent){.first = *first, .n = n, .slot = slot};
    t->n.bytes += 8 * n;
    t->n.loaded++;
    return true;
}

/* ---- a table ---- */

static uint32_t buckets_of(const unwind_table *u) { return u->n_buckets ? u->n_buckets - 1 : 0; }

static size_t words_of(const unwind_table *u)
{
    return buckets_of(u) + (size_t)u->n_rows + BPF_WIDE_WORDS * (size_t)u->n_wide;
}

static uint64_t *put_wide(uint64_t *w, const wide_rule *r)
{
    struct bpf_wide x = {.reg = r->reg,
                         .deref = r->deref,
                         .fp = r->fp,
                         .third = r->third,
                         .offset = r->offset,
                         .add = r->add,
                         .fp_at = r->fp_at,
                         .third_at = r->third_at};
    _Static_assert(sizeof x == 8 * BPF_WIDE_WORDS, "a wide rule in words");
    memcpy(w, &x, sizeof x);
    return w + BPF_WIDE_WORDS;
}

static bool write_words(table_store *t, const unwind_table *u, size_t first)
{
    size_t n = words_of(u);
    uint64_t *words = n ? t->m.map(t->m.ctx, first, n) : NULL, *w = words;
    if (!words) return !n;
    for (uint32_t i = 0; i < buckets_of(u); i++)
        *w++ = u->buckets[i] | (uint64_t)u->buckets[i + 1] << 32;
    for (uint32_t i = 0; i < u->n_rows; i++) *w++ = u->rows[i].pc | (uint64_t)u->rows[i].rule << 32;
    for (uint32_t i = 0; i < u->n_wide; i++) w = put_wide(w, &u->wide[i]);
    t->m.unmap(t->m.ctx, words, first, n);
    return true;
}

/* Writes the slot of a table; the state last, which makes it visible to walks. */
static void publish(table_store *t, uint32_t slot, const unwind_table *u, size_t first,
                    uint32_t now)
{
    struct bpf_table *s = &t->m.slots[slot];
    uint32_t n_buckets = buckets_of(u);
    s->base = u->base;
    s->buckets = (uint32_t)first;
    s->rows = (uint32_t)first + n_buckets;
    s->wide = s->rows + u->n_rows;
    s->n_buckets = n_buckets;
    s->n_rows = u->n_rows;
    s->shift = u->shift;
    s->used = now;
    __atomic_store_n(&s->state, BPF_TABLE_READY, __ATOMIC_RELEASE);
    t->files.v[slot].n_rows = u->n_rows;
    t->n.rows += u->n_rows;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Compiles .eh_frame.  A file without it gives an empty table. */
static bool compile(table_store *t, str elf, const unwind_object *o, arena *a, unwind_table *out,
                    err *e)
{
    object_index x;
    *out = (unwind_table){0};
    cfi_source s = {.text_lo = o->lo, .text_hi = o->hi, .machine = o->machine};
    if (o->hdr.n && object_read_index(o, &x)) {
        s.eh_frame = (str){(const char *)x.eh_frame.p, x.eh_frame.n};
        s.address = x.eh_frame.at;
    } else {
        s.eh_frame = object_eh_frame(elf, &s.address);
    }
    if (!s.eh_frame.n) return true;
    uint64_t start = now_ns();
    s.eh_frame.n = cfi_length(s.eh_frame);
    bool ok = cfi_compile(&s, a, out, NULL, e);
    t->n.compiled++;
    t->n.compile_ns += now_ns() - start;
    return ok;
}

/* Loads the table of a slot, if it fits. */
static void load(table_store *t, uint32_t slot, str elf, const unwind_object *o, uint32_t now)
{
    arena a = {.budget = COMPILE_BYTES};
    unwind_table u;
    size_t first = 0;
    if (object_has_go(elf) || !compile(t, elf, o, &a, &u, NULL))
        t->files.v[slot].unusable = true;
    else if (words_of(&u) && !reserve(t, words_of(&u), slot, now, &first))
        t->n.refused++;
    else if (write_words(t, &u, first))
        publish(t, slot, &u, first, now);
    else
        remove_table(t, slot), t->n.refused++;
    arena_free(&a);
}

/* ---- files ---- */

static bool open_elf(str elf, unwind_object *o, err *e)
{
    Elf64_Ehdr h;
    if (elf.n < sizeof h) return err_set(e, ERR_MALFORMED, "the file is too short for ELF");
    memcpy(&h, elf.p, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_machine != CFI_X86_64)
        return err_set(e, ERR_MALFORMED, "not an ELF file for x86-64");
    if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff % 8 || h.e_phoff > elf.n ||
        (uint64_t)h.e_phnum * sizeof(Elf64_Phdr) > elf.n - h.e_phoff)
        return err_at(e, ERR_MALFORMED, h.e_phoff, "the program headers exceed the file");
    object_source s = {.phdr = (const Elf64_Phdr *)(const void *)(elf.p + h.e_phoff),
                       .n_phdr = h.e_phnum,
                       .file = (const uint8_t *)elf.p,
                       .n_file = elf.n,
                       .machine = h.e_machine};
    return object_open(&s, o) || err_set(e, ERR_MALFORMED, "the file has no code");
}

static uint64_t hash_of(const table_store *t, const table_key *k)
{
    uint64_t h = hash_mix(hash_mix(t->index.seed, k->dev), k->ino);
    return hash_mix(hash_mix(h, k->size), (uint64_t)k->mtime_s ^ (uint64_t)k->mtime_ns << 34);
}

/* Adds a file to the index, which has room. */
static void index_file(table_store *t, uint32_t slot)
{
    uint64_t h = hash_of(t, &t->files.v[slot].key);
    uint32_t i = hash_first(&t->index, h);
    for (uint32_t at; hash_next(&t->index, &i, h, &at); i++) continue;
    hash_put(&t->index, i, h, slot);
}

static bool find_file(table_store *t, const table_key *key, uint32_t *slot)
{
    if (!t->index.slot) return false;
    uint64_t h = hash_of(t, key);
    uint32_t i = hash_first(&t->index, h);
    for (uint32_t at; hash_next(&t->index, &i, h, &at); i++)
        if (memcmp(&t->files.v[at].key, key, sizeof *key) == 0) return *slot = at, true;
    return false;
}

/* Gives the slot of a file without references, the one not used for the longest time, to another
 * file.  The index cannot remove entries, so it is built again. */
static bool reuse_slot(table_store *t, const table_key *key, uint32_t *slot)
{
    uint32_t used = UINT32_MAX;
    *slot = TABLE_NONE;
    for (uint32_t i = 0; i < t->files.n; i++)
        if (!t->files.v[i].refs && t->m.slots[i].used < used) *slot = i, used = t->m.slots[i].used;
    if (*slot == TABLE_NONE) return false;
    __atomic_store_n(&t->m.slots[*slot].state, BPF_TABLE_ABSENT, __ATOMIC_SEQ_CST);
    remove_table(t, *slot);
    t->m.grace(t->m.ctx);
    t->files.v[*slot] = (table_file){.key = *key};
    memset(t->index.slot, 0, ((size_t)t->index.mask + 1) * sizeof *t->index.slot);
    t->index.n = 0;
    for (uint32_t i = 0; i < t->files.n; i++) index_file(t, i);
    return true;
}

static bool add_file(table_store *t, const table_key *key, uint32_t *slot, err *e)
{
    if (t->files.n == t->m.n_slots)
        return reuse_slot(t, key, slot) ||
               err_set(e, ERR_LIMIT, "more than %zu files are mapped", t->m.n_slots);
    if (!hash_index_room(&t->index, &t->a) || !vec_push(&t->a, &t->files)) return err_memory(e);
    *slot = (uint32_t)t->files.n - 1;
    t->files.v[*slot].key = *key;
    index_file(t, *slot);
    t->n.files++;
    return true;
}

bool table_of(table_store *t, const table_key *key, str elf, uint32_t now, uint32_t *handle, err *e)
{
    unwind_object o;
    *handle = TABLE_NONE;
    if (find_file(t, key, handle)) {
        const table_file *f = &t->files.v[*handle];
        bool waits = f->tried && now - f->tried < RETRY_S;
        if (table_loaded(t, *handle) || f->unusable || waits) return true;
    }
    if (!open_elf(elf, &o, e)) return false;
    if (*handle == TABLE_NONE && !add_file(t, key, handle, e)) return false;
    t->files.v[*handle].tried = now;
    load(t, *handle, elf, &o, now);
    return true;
}
