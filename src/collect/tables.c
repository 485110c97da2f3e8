/* Maps the files of other processes and builds unwind tables from them. */
#include "collect/tables.h"

#include "collect/object_file.h"
#include "model/model.h"
#include "sys/rooted.h"
#include "unwind/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include "base/ban.h"

enum { FILES = 1024, COMPILED_BYTES = 16 << 20, HELD_BYTES = 8 << 20 };

typedef struct table_file {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
    file_bytes f;
    char gnu[2 * BUILD_ID_BYTES_MAX + 1]; /* "": none */
} table_file;

/* The rules of a file without .eh_frame_hdr, at one place. */
typedef struct compiled {
    const char *file; /* its bytes */
    uintptr_t lo;
    const unwind_table *table; /* NULL: it has none */
} compiled;

struct table_files {
    table_file v[FILES];
    size_t n, held; /* held: bytes of files that are not mapped */
    arena mem;      /* holds the compiled rules */
    VEC(compiled) compiled;
};

table_files *table_files_open(void)
{
    table_files *f = calloc(1, sizeof *f);
    if (f) f->mem.budget = COMPILED_BYTES;
    return f;
}

void table_files_reset(table_files *f)
{
    for (size_t i = 0; i < f->n; i++) file_release(&f->v[i].f);
    arena_free(&f->mem);
    *f = (table_files){.mem = {.budget = COMPILED_BYTES}};
}

bool table_files_full(const table_files *f)
{
    return f->n > FILES / 4 * 3 || f->mem.used > COMPILED_BYTES / 2 || f->held > HELD_BYTES;
}

void table_files_close(table_files *f)
{
    if (!f) return;
    table_files_reset(f);
    free(f);
}

/* ---- files ---- */

static bool is_same(const table_file *t, const struct stat *st)
{
    return t->dev == st->st_dev && t->ino == st->st_ino && t->size == st->st_size &&
           t->changed.tv_sec == st->st_mtim.tv_sec && t->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* Returns whether the path leads to the file that is mapped: it may have been replaced. */
static bool is_mapped(const table_file *t, const image *x)
{
    if (x->inode && t->ino == x->inode) return true;
    /* A file system in layers may show another inode for the same file. */
    if (x->gnu[0] && t->gnu[0]) return !strcmp(t->gnu, x->gnu);
    return !x->inode;
}

static void read_id(table_file *t)
{
    elf_file f;
    arena scratch = {.budget = 4 << 20};
    str id = elf_read(t->f.bytes, &scratch, &f, NULL) ? elf_build_ids(&f).gnu : (str){0};
    if (id.n && id.n <= BUILD_ID_BYTES_MAX) hex_encode((const uint8_t *)id.p, id.n, t->gnu);
    arena_free(&scratch);
}

/* Takes ownership of `found`, a descriptor of rooted_find. */
static const table_file *open_file(table_files *f, int found, const struct stat *st)
{
    for (size_t i = 0; i < f->n; i++)
        if (is_same(&f->v[i], st)) return close(found), &f->v[i];
    if (f->n == FILES) return close(found), NULL;
    table_file *t = &f->v[f->n];
    *t = (table_file){
        .dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .changed = st->st_mtim};
    if (!rooted_read(found, st, 0, &t->f, NULL)) return NULL;
    file_sparse(&t->f);
    read_id(t);
    f->held += t->f.mapped ? 0 : t->f.bytes.n;
    f->n++;
    return t;
}

/* Finds the very file that is mapped, even if it was deleted.  Only root may do this, and only while
 * the process runs. */
static int find_mapped(int pid, const image *x, struct stat *st)
{
    char name[96];
    snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, x->start, x->end);
    return pid ? rooted_find(NULL, name, st, NULL) : -1;
}

/* Finds the file through the root directory of the process, which may differ from kiln's. */
static int find_path(const char *root, str path, struct stat *st)
{
    char name[4097];
    snprintf(name, sizeof name, "%.*s", STR_ARG(path));
    int fd = root ? rooted_find(root, name, st, NULL) : -1;
    return fd >= 0 ? fd : rooted_find(NULL, name, st, NULL);
}

static str file_of(table_files *f, int pid, const char *root, const image *x, struct stat *st)
{
    str path = x->path;
    if (path.n > 4096 || !path.n || path.p[0] != '/' || str_starts(path, STR("/memfd:")))
        return (str){0};
    int fd = find_mapped(pid, x, st);
    bool exact = fd >= 0;
    if (!exact) fd = find_path(root, path, st);
    const table_file *t = fd >= 0 ? open_file(f, fd, st) : NULL;
    return t && (exact || is_mapped(t, x)) ? t->f.bytes : (str){0};
}

str tables_file(table_files *f, int pid, const char *root, const image *x, struct stat *st)
{
    *st = (struct stat){0};
    return str_eq(x->path, STR("[vdso]")) ? object_vdso() : file_of(f, pid, root, x, st);
}

/* ---- objects ---- */

/* Adds the compiled rules of a file without .eh_frame_hdr.  Each file and place is compiled once. */
static void add_rules(table_files *f, str bytes, const image *x, unwind_object *o)
{
    if (o->hdr.n) return;
    for (size_t i = 0; i < f->compiled.n; i++) {
        const compiled *c = &f->compiled.v[i];
        if (c->file != bytes.p || c->lo != o->lo) continue;
        atomic_store(&o->table, c->table);
        return;
    }
    object_add_rules(bytes, x->start, x->offset, &f->mem, o);
    compiled *c = vec_push(&f->mem, &f->compiled);
    if (c) *c = (compiled){bytes.p, o->lo, atomic_load(&o->table)};
}

static bool open_object(table_files *f, int pid, const char *root, const image *x, unwind_object *o)
{
    struct stat st;
    str bytes = tables_file(f, pid, root, x, &st);
    if (!object_of_file(bytes, x->start, x->offset, o)) return false;
    object_add_go(bytes, x->start, x->offset, o);
    add_rules(f, bytes, x, o);
    return true;
}

static bool is_known(const unwind_object *v, size_t n, const unwind_object *o)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].lo == o->lo) return true;
    return false;
}

unwind_snapshot *tables_make(table_files *f, const char *root, const images *m)
{
    unwind_object *v = calloc(m->v.n ? m->v.n : 1, sizeof *v);
    size_t n = 0;
    if (!v) return NULL;
    for (size_t i = 0; i < m->v.n; i++) {
        /* An object with several executable segments has several images. */
        const image *x = &m->v.v[i];
        n += !x->gone && open_object(f, m->pid, root, x, &v[n]) && !is_known(v, n, &v[n]);
    }
    unwind_snapshot *s = foreign_open(v, n, NULL);
    free(v);
    return s;
}
