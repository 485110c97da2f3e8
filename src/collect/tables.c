/* Maps the files of other processes and builds unwind tables from them. */
#include "collect/tables.h"

#include "collect/object_file.h"
#include "sys/file.h"
#include "unwind/cfi.h"
#include "unwind/foreign.h"

#include <stdio.h>
#include "base/ban.h"

enum { FILES = 1024, TABLE_BYTES = 64 << 20 };

typedef struct placed_table {
    uint64_t bias;
    unwind_table *table;
} placed_table;

typedef struct table_file {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
    file_bytes f;
    /* A file without .eh_frame_hdr has one table, at each place where it is mapped. */
    arena mem;
    VEC(placed_table) tables;
    bool tried;
} table_file;

struct table_files {
    table_file v[FILES];
    size_t n;
};

table_files *table_files_open(void) { return calloc(1, sizeof(table_files)); }

void table_files_close(table_files *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n; i++) file_release(&f->v[i].f), arena_free(&f->v[i].mem);
    free(f);
}

/* ---- files ---- */

static bool is_same(const table_file *t, const struct stat *st)
{
    return t->dev == st->st_dev && t->ino == st->st_ino && t->size == st->st_size &&
           t->changed.tv_sec == st->st_mtim.tv_sec && t->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* Opens the file through the root directory of the process, which may differ from kiln's. */
static table_file *file_of(table_files *f, const char *root, str path, struct stat *st)
{
    char name[4352];
    if (path.n > 4096 || !path.n || path.p[0] != '/') return NULL;
    snprintf(name, sizeof name, "%s%.*s", root, STR_ARG(path));
    if (stat(name, st) != 0) {
        snprintf(name, sizeof name, "%.*s", STR_ARG(path));
        if (stat(name, st) != 0) return NULL;
    }
    for (size_t i = 0; i < f->n; i++)
        if (is_same(&f->v[i], st)) return &f->v[i];
    if (f->n == FILES || !S_ISREG(st->st_mode)) return NULL;
    table_file *t = &f->v[f->n];
    *t = (table_file){
        .dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .changed = st->st_mtim};
    t->mem.budget = TABLE_BYTES;
    if (!file_read_regular(name, 0, &t->f, NULL)) return NULL;
    f->n++;
    return t;
}

str tables_file(table_files *f, const char *root, str path, struct stat *st)
{
    *st = (struct stat){0};
    if (str_eq(path, STR("[vdso]"))) return object_vdso();
    const table_file *t = file_of(f, root, path, st);
    return t ? t->f.bytes : (str){0};
}

/* ---- objects ---- */

/* Compiles the table, once, with the addresses of the program headers. */
static void compile(table_file *t, const unwind_object *o, uint64_t bias)
{
    unwind_bytes x;
    unwind_table made;
    t->tried = true;
    if (!object_bare_frames(t->f.bytes, &x)) return;
    cfi_source s = {.eh_frame = {(const char *)x.p, x.n},
                    .address = x.at,
                    .text_lo = o->lo - bias,
                    .text_hi = o->hi - bias,
                    .machine = o->machine};
    if (!cfi_compile(&s, &t->mem, &made, NULL, NULL)) return;
    placed_table *p = vec_push(&t->mem, &t->tables);
    unwind_table *table = p ? arena_new(&t->mem, unwind_table, 1) : NULL;
    if (!table) return (void)(t->tables.n = 0);
    *table = made;
    *p = (placed_table){.bias = 0, .table = table};
}

/* Returns the table for a place; all places share its rows. */
static const unwind_table *table_at(table_file *t, const unwind_object *o, uint64_t bias)
{
    if (!t->tried) compile(t, o, bias);
    for (size_t i = 0; i < t->tables.n; i++)
        if (t->tables.v[i].bias == bias) return t->tables.v[i].table;
    unwind_table *table = t->tables.n ? arena_new(&t->mem, unwind_table, 1) : NULL;
    placed_table *p = table ? vec_push(&t->mem, &t->tables) : NULL;
    if (!p) return NULL;
    *table = *t->tables.v[0].table;
    table->base += bias;
    *p = (placed_table){bias, table};
    return table;
}

static bool open_object(table_files *f, const char *root, const image *x, unwind_object *o)
{
    struct stat st;
    uint64_t bias;
    bool vdso = str_eq(x->path, STR("[vdso]"));
    table_file *t = vdso ? NULL : file_of(f, root, x->path, &st);
    str bytes = vdso ? object_vdso() : t ? t->f.bytes : (str){0};
    if (!object_of_file(bytes, x->start, x->offset, o)) return false;
    object_add_go(bytes, x->start, x->offset, o);
    if (t && !o->hdr.n && object_bias(bytes, x->start, x->offset, &bias))
        atomic_store(&o->table, table_at(t, o, bias));
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
