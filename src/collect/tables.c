/* Maps the files of other processes and builds unwind tables from them. */
#include "collect/tables.h"

#include "collect/object_file.h"
#include "sys/file.h"
#include "unwind/foreign.h"

#include <stdio.h>
#include "base/ban.h"

enum { FILES = 1024, COMPILED_BYTES = 32 << 20 };

typedef struct table_file {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
    file_bytes f;
} table_file;

/* The rules of a file without .eh_frame_hdr, at one place. */
typedef struct compiled {
    const char *file; /* its bytes */
    uintptr_t lo;
    const unwind_table *table; /* NULL: it has none */
} compiled;

struct table_files {
    table_file v[FILES];
    size_t n;
    arena mem; /* holds the compiled rules */
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
    return f->n > FILES / 4 * 3 || f->mem.used > COMPILED_BYTES / 4 * 3;
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

/* Opens the file through the root directory of the process, which may differ from kiln's. */
static str file_of(table_files *f, const char *root, str path, struct stat *st)
{
    char name[4352];
    if (path.n > 4096 || !path.n || path.p[0] != '/') return (str){0};
    snprintf(name, sizeof name, "%s%.*s", root, STR_ARG(path));
    if (stat(name, st) != 0) {
        snprintf(name, sizeof name, "%.*s", STR_ARG(path));
        if (stat(name, st) != 0) return (str){0};
    }
    for (size_t i = 0; i < f->n; i++)
        if (is_same(&f->v[i], st)) return f->v[i].f.bytes;
    if (f->n == FILES || !S_ISREG(st->st_mode)) return (str){0};
    table_file *t = &f->v[f->n];
    *t = (table_file){
        .dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .changed = st->st_mtim};
    if (!file_read_regular(name, 0, &t->f, NULL)) return (str){0};
    file_sparse(&t->f);
    f->n++;
    return t->f.bytes;
}

str tables_file(table_files *f, const char *root, str path, struct stat *st)
{
    *st = (struct stat){0};
    return str_eq(path, STR("[vdso]")) ? object_vdso() : file_of(f, root, path, st);
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

static bool open_object(table_files *f, const char *root, const image *x, unwind_object *o)
{
    struct stat st;
    str bytes = tables_file(f, root, x->path, &st);
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
        if (!m->v.v[i].gone && open_object(f, root, &m->v.v[i], &v[n]) && !is_known(v, n, &v[n]))
            n++;
    }
    unwind_snapshot *s = foreign_open(v, n, NULL);
    free(v);
    return s;
}
