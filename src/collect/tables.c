/* Maps the files of other processes and builds unwind tables from them. */
#include "collect/tables.h"

#include "sys/file.h"
#include "unwind/foreign.h"

#include <elf.h>
#include <stdio.h>
#include <sys/auxv.h>
#include "base/ban.h"

enum { FILES = 1024, PAGE = 4096 };

typedef struct table_file {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
    file_bytes f;
} table_file;

struct table_files {
    table_file v[FILES];
    size_t n;
};

table_files *table_files_open(void) { return calloc(1, sizeof(table_files)); }

void table_files_close(table_files *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n; i++) file_release(&f->v[i].f);
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
    f->n++;
    return t->f.bytes;
}

str tables_vdso(void)
{
    const char *base = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!base) return (str){0};
    Elf64_Ehdr h;
    memcpy(&h, base, sizeof h);
    return (str){base, h.e_shoff + (size_t)h.e_shnum * h.e_shentsize};
}

str tables_file(table_files *f, const char *root, str path, struct stat *st)
{
    *st = (struct stat){0};
    return str_eq(path, STR("[vdso]")) ? tables_vdso() : file_of(f, root, path, st);
}

/* ---- objects ---- */

/* Finds the program headers. */
static bool read_headers(str elf, object_source *s)
{
    Elf64_Ehdr h;
    if (elf.n < sizeof h) return false;
    memcpy(&h, elf.p, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff % 8 || h.e_phoff > elf.n ||
        (uint64_t)h.e_phnum * sizeof(Elf64_Phdr) > elf.n - h.e_phoff)
        return false;
    *s = (object_source){.phdr = (const Elf64_Phdr *)(const void *)(elf.p + h.e_phoff),
                         .n_phdr = h.e_phnum,
                         .file = (const uint8_t *)elf.p,
                         .n_file = elf.n,
                         .machine = h.e_machine};
    return true;
}

/* Computes the bias from the segment that contains the image's file offset. */
static bool bias_of(const object_source *s, const image *x, uint64_t *bias)
{
    for (size_t i = 0; i < s->n_phdr; i++) {
        const Elf64_Phdr *p = &s->phdr[i];
        uint64_t from = p->p_offset & ~(uint64_t)(PAGE - 1);
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || x->offset < from ||
            x->offset >= p->p_offset + p->p_filesz)
            continue;
        *bias = x->start - (p->p_vaddr - p->p_offset + x->offset);
        return true;
    }
    return false;
}

bool tables_bias(str elf, const image *x, uint64_t *bias)
{
    object_source s;
    return read_headers(elf, &s) && bias_of(&s, x, bias);
}

static bool open_object(table_files *f, const char *root, const image *x, unwind_object *o)
{
    struct stat st;
    object_source s;
    return read_headers(tables_file(f, root, x->path, &st), &s) && bias_of(&s, x, &s.bias) &&
           object_open(&s, o);
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
