/* Reads, changes and writes the manifest (manifest.h), and compares a day file with its line. */
#include "store/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/hash_long.h"
#include "base/ban.h"

#define HEAD "kiln manifest 1\n"
enum { MANIFEST_MAX = 16 << 20 };

void manifest_free(manifest *m)
{
    free(m->files);
    free(m->segments);
    *m = (manifest){0};
}

/* ---- lines ---- */

manifest_file *manifest_find(const manifest *m, day_name name)
{
    for (size_t i = 0; i < m->n_files; i++)
        if (!m->files[i].lost && day_name_cmp(m->files[i].name, name) == 0) return &m->files[i];
    return NULL;
}

bool manifest_put(manifest *m, const manifest_file *f)
{
    manifest_file *at = f->lost ? NULL : manifest_find(m, f->name);
    if (at) return *at = *f, true;
    if (m->n_files == m->cap_files) {
        size_t cap = m->cap_files ? m->cap_files * 2 : 16;
        manifest_file *v = realloc(m->files, cap * sizeof *v);
        if (!v) return false;
        m->files = v;
        m->cap_files = cap;
    }
    m->files[m->n_files++] = *f;
    return true;
}

void manifest_drop(manifest *m, size_t i)
{
    memmove(m->files + i, m->files + i + 1, (m->n_files - i - 1) * sizeof *m->files);
    m->n_files--;
}

const manifest_segment *manifest_find_segment(const manifest *m, uint32_t number)
{
    for (size_t i = 0; i < m->n_segments; i++)
        if (m->segments[i].number == number) return &m->segments[i];
    return NULL;
}

bool manifest_put_segment(manifest *m, const manifest_segment *s)
{
    size_t n = 0; /* drops segments from this number on: they are void */
    for (size_t i = 0; i < m->n_segments; i++)
        if (m->segments[i].number < s->number) m->segments[n++] = m->segments[i];
    m->n_segments = n;
    if (n == m->cap_segments) {
        size_t cap = n ? n * 2 : 16;
        manifest_segment *v = realloc(m->segments, cap * sizeof *v);
        if (!v) return false;
        m->segments = v;
        m->cap_segments = cap;
    }
    m->segments[m->n_segments++] = *s;
    return true;
}

bool manifest_release(manifest *m, uint64_t through, uint64_t next)
{
    size_t gone = 0;
    while (gone < m->n_segments) {
        uint64_t end = gone + 1 < m->n_segments ? m->segments[gone + 1].first_seq : next;
        if (end > through + 1) break;
        gone++;
    }
    if (!gone) return false;
    m->n_segments -= gone;
    memmove(m->segments, m->segments + gone, m->n_segments * sizeof *m->segments);
    return true;
}

/* ---- the file ---- */

static bool take_file(manifest *m, const char *row, bool lost)
{
    char name[DAY_NAME];
    manifest_file f = {.lost = lost};
    return sscanf(row,
                  "%*s %31s %" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                  name, &f.id, &f.through, &f.samples, &f.profiles, &f.first, &f.last) == 7 &&
           day_name_parse(name, &f.name) && manifest_put(m, &f);
}

static bool take_line(manifest *m, const char *row)
{
    manifest_segment s;
    if (sscanf(row, "through %" SCNu64, &m->through) == 1) return true;
    if (sscanf(row, "durable %" SCNu64, &m->durable) == 1) return true;
    if (sscanf(row, "items %" SCNu64, &m->lost_items) == 1) return true;
    if (strncmp(row, "file ", 5) == 0) return take_file(m, row, false);
    if (strncmp(row, "lost ", 5) == 0) return take_file(m, row, true);
    if (sscanf(row, "segment %" SCNu32 " %" SCNx64 " %" SCNu64, &s.number, &s.salt, &s.first_seq) ==
        3)
        return manifest_put_segment(m, &s);
    return true; /* ignores lines of a newer kiln */
}

/* Parses the lines. The seal is checked first, so an unreadable line was written that way. */
static bool parse(manifest *m, char *text, size_t n)
{
    char *seal = NULL, *row = text;
    uint64_t want;
    for (char *p = text; (p = strstr(p, "\nseal ")); p++) seal = p + 1;
    if (strncmp(text, HEAD, sizeof HEAD - 1) != 0 || !seal || seal + 22 != text + n ||
        sscanf(seal, "seal %16" SCNx64, &want) != 1 ||
        hash_long(text, (size_t)(seal - text)) != want)
        return false;
    for (char *end; row < seal && (end = strchr(row, '\n')); row = end + 1) {
        *end = 0;
        if (!take_line(m, row)) return false;
    }
    return true;
}

static uint64_t changed_at(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

static bool read_all(int fd, char *p, size_t n)
{
    size_t got = 0;
    for (ssize_t k; got < n && (k = read(fd, p + got, n - got)) > 0;) got += (size_t)k;
    return got == n;
}

bool manifest_load(manifest *m, const char *dir, err *e)
{
    char path[DAY_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s/manifest", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return manifest_free(m), true;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int why = errno;
        if (fd >= 0) close(fd);
        return err_sys(e, why, "%s: cannot be read", path);
    }
    if (m->there && m->inode == (uint64_t)st.st_ino && m->changed == changed_at(&st))
        return close(fd), true;
    manifest_free(m);
    size_t n = (size_t)st.st_size;
    char *text = n <= MANIFEST_MAX ? malloc(n + 1) : NULL;
    bool ok = text && read_all(fd, text, n);
    close(fd);
    if (ok) text[n] = 0;
    ok = ok && parse(m, text, n);
    free(text);
    if (!ok) manifest_free(m);
    m->there = ok;
    m->inode = (uint64_t)st.st_ino;
    m->changed = changed_at(&st);
    return ok || err_set(e, ERR_MALFORMED, "%s: is damaged", path);
}

static void put_lines(const manifest *m, buf *b)
{
    buf_printf(b, HEAD "through %" PRIu64 "\ndurable %" PRIu64 "\n", m->through, m->durable);
    for (size_t i = 0; i < m->n_files; i++) {
        const manifest_file *f = &m->files[i];
        char name[DAY_NAME];
        day_name_text(f->name, name);
        buf_printf(
            b, "%s %s %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
            f->lost ? "lost" : "file", name, f->id, f->through, f->samples, f->profiles, f->first,
            f->last);
    }
    if (m->lost_items) buf_printf(b, "items %" PRIu64 "\n", m->lost_items);
    for (size_t i = 0; i < m->n_segments; i++) {
        const manifest_segment *s = &m->segments[i];
        buf_printf(b, "segment %" PRIu32 " %" PRIx64 " %" PRIu64 "\n", s->number, s->salt,
                   s->first_seq);
    }
    buf_printf(b, "seal %016" PRIx64 "\n", hash_long(b->p, b->n));
}

static void sync_directory(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

bool manifest_save(manifest *m, sqlite3_vfs *vfs, const char *dir, bool sync, err *e)
{
    char path[DAY_PATH], next[DAY_PATH];
    struct stat st;
    buf b = {0};
    put_lines(m, &b);
    if (b.failed) return buf_free(&b), err_sys(e, ENOMEM, "no memory for the manifest");
    snprintf(path, sizeof path, "%s/manifest", dir);
    snprintf(next, sizeof next, "%s/manifest.next", dir);
    vfile *f = vfile_open(vfs, next, VFILE_WRITE, e);
    bool ok = f != NULL;
    if (ok) vfile_cut(f, 0); /* the file may be left by a writer that died */
    ok = ok && vfile_write(f, 0, buf_view(&b), e) && (!sync || vfile_sync(f, e));
    vfile_close(f);
    buf_free(&b);
    if (ok && (stat(next, &st) != 0 || rename(next, path) != 0))
        ok = err_sys(e, errno, "%s: cannot be written", path);
    if (!ok) return (void)unlink(next), false;
    if (sync) sync_directory(dir);
    m->there = true;
    m->inode = (uint64_t)st.st_ino;
    m->changed = changed_at(&st);
    return true;
}

/* ---- comparing a day file with its line ---- */

static bool meta(database *d, const char *key, uint64_t *out, err *e)
{
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT value FROM meta WHERE key = '%s'", key);
    return database_number(d, sql, out, e);
}

bool manifest_facts(database *d, day_name name, manifest_file *out, err *e)
{
    *out = (manifest_file){.name = name};
    return meta(d, "id", &out->id, e) && meta(d, "through", &out->through, e) &&
           meta(d, "samples", &out->samples, e) && meta(d, "profiles", &out->profiles, e) &&
           meta(d, "first", &out->first, e) && meta(d, "last", &out->last, e);
}

bool manifest_holds(const manifest_file *entry, const manifest_file *now, err *e)
{
    char name[DAY_NAME];
    day_name_text(entry->name, name);
    if (entry->id != now->id && entry->id)
        return err_set(e, ERR_MALFORMED, "%s: another file has replaced it", name);
    if (now->through < entry->through || now->samples < entry->samples ||
        now->profiles < entry->profiles)
        return err_set(e, ERR_MALFORMED,
                       "%s: it has %" PRIu64 " samples, but the manifest lists %" PRIu64, name,
                       now->samples, entry->samples);
    if (now->through == entry->through &&
        (now->samples != entry->samples || now->profiles != entry->profiles ||
         now->first != entry->first || now->last != entry->last))
        return err_set(e, ERR_MALFORMED, "%s: its counts differ from the manifest", name);
    return true;
}
