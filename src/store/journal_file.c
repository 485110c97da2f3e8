/* Files of the journal: names, headers, checksums, and the locks between readers and the writer.
 * Shared by journal.c, journal_hold.c and journal_read.c. */
#include "store/journal_file.h"

#include "store/manifest.h"

#include <dirent.h>
#include <errno.h>
#include "base/ban.h"

static const char MAGIC[8] = "KILNRAW1";

void segment_path(const char *dir, uint32_t number, char out[JOURNAL_PATH])
{
    snprintf(out, JOURNAL_PATH, "%s/raw-%08u.log", dir, number);
}

void segment_header(const journal_segment *s, char out[JOURNAL_HEADER])
{
    memset(out, 0, JOURNAL_HEADER);
    memcpy(out, MAGIC, 8);
    memcpy(out + 8, &s->number, 4);
    memcpy(out + 16, &s->salt, 8);
    memcpy(out + 24, &s->first_seq, 8);
    uint64_t check = XXH3_64bits(out, JOURNAL_HEADER - 8);
    memcpy(out + JOURNAL_HEADER - 8, &check, 8);
}

bool segment_parse(const char head[JOURNAL_HEADER], journal_segment *out)
{
    uint64_t check;
    memcpy(&check, head + JOURNAL_HEADER - 8, 8);
    if (memcmp(head, MAGIC, 8) != 0 || check != XXH3_64bits(head, JOURNAL_HEADER - 8)) return false;
    *out = (journal_segment){0};
    memcpy(&out->number, head + 8, 4);
    memcpy(&out->salt, head + 16, 8);
    memcpy(&out->first_seq, head + 24, 8);
    return true;
}

/* The checksum covers seq, salt, length and hash: 32 bytes from byte 8 on. */
static uint32_t record_check(const char *head) { return (uint32_t)XXH3_64bits(head + 8, 32); }

void record_seal(char *head)
{
    uint32_t magic = JOURNAL_MAGIC, check = record_check(head);
    memcpy(head, &magic, 4);
    memcpy(head + 4, &check, 4);
}

bool record_fits(const char *head, uint64_t salt)
{
    uint32_t magic, check;
    uint64_t of;
    memcpy(&magic, head, 4);
    memcpy(&check, head + 4, 4);
    memcpy(&of, head + 16, 8);
    return magic == JOURNAL_MAGIC && of == salt && check == record_check(head);
}

/* ---- listing ---- */

static bool number_of(const char *name, uint32_t *number)
{
    char again[32];
    if (strncmp(name, "raw-", 4) != 0) return false;
    *number = (uint32_t)strtoul(name + 4, NULL, 10);
    snprintf(again, sizeof again, "raw-%08u.log", *number);
    return strcmp(name, again) == 0;
}

static bool read_header(sqlite3_vfs *vfs, const char *path, uint32_t number, journal_segment *s,
                        bool *good, err *e)
{
    char head[JOURNAL_HEADER];
    size_t got = 0;
    err why = {0};
    *good = false;
    vfile *f = vfile_open(vfs, path, VFILE_READ, &why);
    if (!f && why.sys == ENOENT) return true; /* the file was just removed */
    uint64_t size = 0;
    bool ok = f && vfile_read(f, 0, head, sizeof head, &got, &why) && vfile_size(f, &size, &why);
    vfile_close(f);
    if (!ok) {
        if (e) *e = why;
        return false;
    }
    *good = got == sizeof head && segment_parse(head, s) && s->number == number;
    s->end = s->size = size;
    return true;
}

static int by_number(const void *a, const void *b)
{
    const journal_segment *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool push(segment_list *l, journal_segment s)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        journal_segment *v = realloc(l->v, cap * sizeof *v);
        if (!v) return false;
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = s;
    return true;
}

/* The manifest has a copy of the header of every segment with acknowledged records. */
static bool restore_header(manifest *m, const char *dir, uint32_t number, journal_segment *s)
{
    uint64_t size = s->end;
    if (!m->there && !manifest_load(m, dir, NULL)) return false;
    const manifest_segment *copy = manifest_find_segment(m, number);
    if (!copy) return false;
    *s = (journal_segment){.number = number,
                           .salt = copy->salt,
                           .first_seq = copy->first_seq,
                           .end = size,
                           .bad = true};
    return true;
}

bool segments_list(sqlite3_vfs *vfs, const char *dir, segment_list *out, err *e)
{
    *out = (segment_list){0};
    DIR *d = opendir(dir);
    if (!d) return err_sys(e, errno, "%s: cannot be read", dir);
    bool ok = true;
    char path[JOURNAL_PATH];
    manifest m = {0};
    for (struct dirent *f; ok && (f = readdir(d));) {
        uint32_t number;
        journal_segment s = {0};
        bool good = false;
        if (!number_of(f->d_name, &number)) continue;
        segment_path(dir, number, path);
        ok = read_header(vfs, path, number, &s, &good, e);
        good = good || (ok && restore_header(&m, dir, number, &s));
        if (ok && good && !push(out, s)) ok = err_sys(e, ENOMEM, "no memory for the journal");
    }
    closedir(d);
    manifest_free(&m);
    if (ok && out->n) qsort(out->v, out->n, sizeof *out->v, by_number);
    if (!ok) free(out->v);
    return ok;
}
