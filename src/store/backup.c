/* Copies a store: databases with SQLite's backup API, and segments of the journal as files, which
 * the reader has locked. A day file that is unchanged since the last copy is hard-linked. The copy
 * replaces DEST by an exchange of two directories. */
#include "store/backup.h"

#include "store/journal_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/ban.h"

enum { PAGES = 256, PIECE = 1 << 18 }; /* copied at a time */

typedef struct backup {
    reader *r;
    const char *dest;
    char next[DAY_PATH];
    manifest had, has; /* manifests of DEST and of the new copy */
    const store_backup_opts *o;
    store_backup_result *out;
} backup;

static void step(backup *b, const char *name)
{
    if (b->o && b->o->progress) b->o->progress(b->o->ctx, name, b->out);
}

/* ---- directories ---- */

static bool remove_all(const char *dir, err *e)
{
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT || err_sys(e, errno, "%s: cannot be removed", dir);
    for (struct dirent *f; (f = readdir(d));)
        if (f->d_name[0] != '.') (void)unlinkat(dirfd(d), f->d_name, 0);
    closedir(d);
    return rmdir(dir) == 0 || err_sys(e, errno, "%s: cannot be removed", dir);
}

/* Returns whether DEST may be replaced: it must be an earlier copy, empty, or missing. */
static bool may_replace(const char *dest, const manifest *had, err *e)
{
    DIR *d = opendir(dest);
    if (!d) return errno == ENOENT || err_sys(e, errno, "%s: cannot be read", dest);
    size_t n = 0;
    for (struct dirent *f; (f = readdir(d));) n += f->d_name[0] != '.';
    closedir(d);
    if (n && !had->there)
        return err_set(e, ERR_USAGE, "%s is not empty and is not a backup: use another directory",
                       dest);
    return reader_has_no_writer(dest) ||
           err_set(e, ERR_MISMATCH,
                   "%s: a process has this store open for writing: use another directory", dest);
}

/* Exchanges both directories by one rename, so that DEST is complete at every moment. Uses two
 * renames where the file system cannot exchange directories. */
static bool exchange(backup *b, err *e)
{
    char old[DAY_PATH];
    if (rename(b->next, b->dest) == 0) return true; /* DEST was empty or missing */
    if (renameat2(AT_FDCWD, b->next, AT_FDCWD, b->dest, RENAME_EXCHANGE) == 0)
        return remove_all(b->next, e);
    snprintf(old, sizeof old, "%s.old", b->dest);
    if (!remove_all(old, e)) return false;
    if (rename(b->dest, old) != 0 || rename(b->next, b->dest) != 0)
        return err_sys(e, errno, "cannot replace the backup %s", b->dest);
    return remove_all(old, e);
}

static void sync_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* ---- databases ---- */

/* Creates an empty file with mode 0600. SQLite itself would create a file that others can read. */
static bool make_private(const char *path, err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return err_sys(e, errno, "%s: cannot be created", path);
    close(fd);
    return true;
}

/* Copies the snapshot that `from` reads, page by page. */
static bool copy_database(backup *b, sqlite3 *from, const char *name, err *e)
{
    char path[DAY_PATH];
    struct stat st;
    sqlite3 *to = NULL;
    snprintf(path, sizeof path, "%s/%s", b->next, name);
    if (!make_private(path, e)) return false;
    int rc =
        sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, b->r->o.vfs->zName);
    sqlite3_backup *k = rc == SQLITE_OK ? sqlite3_backup_init(to, "main", from, "main") : NULL;
    do {
        rc = k ? sqlite3_backup_step(k, PAGES) : sqlite3_errcode(to);
        step(b, name);
    } while (rc == SQLITE_OK);
    if (k) (void)sqlite3_backup_finish(k);
    sqlite3_close(to);
    if (rc != SQLITE_DONE) return sqlite_failed(e, rc, "cannot be copied", path);
    sync_path(path);
    if (stat(path, &st) == 0) b->out->bytes += (uint64_t)st.st_size;
    b->out->n_copied++;
    return true;
}

static bool same(const manifest_file *a, const manifest_file *b)
{
    return a->id == b->id && a->through == b->through && a->samples == b->samples &&
           a->profiles == b->profiles && a->first == b->first && a->last == b->last;
}

/* Hard-links the file if DEST has it unchanged. */
static bool link_known(backup *b, day *d, const manifest_file *now, const char *name)
{
    char from[DAY_PATH], to[DAY_PATH];
    struct stat st;
    uint64_t pages = 0, size = 0;
    const manifest_file *had = manifest_find(&b->had, d->name);
    if (!had || !same(had, now)) return false;
    snprintf(from, sizeof from, "%s/%s", b->dest, name);
    snprintf(to, sizeof to, "%s/%s-wal", b->dest, name);
    /* DEST was opened for writing since the last copy */
    if (stat(to, &st) == 0 && st.st_size) return false;
    if (!database_number(&d->db, "PRAGMA page_count", &pages, NULL) ||
        !database_number(&d->db, "PRAGMA page_size", &size, NULL) || stat(from, &st) != 0 ||
        (uint64_t)st.st_size != pages * size)
        return false;
    snprintf(to, sizeof to, "%s/%s", b->next, name);
    return link(from, to) == 0;
}

static bool copy_day(backup *b, day *d, err *e)
{
    char name[DAY_NAME];
    manifest_file f;
    day_name_text(d->name, name);
    step(b, name);
    if (!manifest_facts(&d->db, d->name, &f, e)) return false;
    if (!manifest_put(&b->has, &f)) return err_sys(e, ENOMEM, "no memory for the manifest");
    b->out->n_files++;
    b->out->n_samples += f.samples;
    if (!link_known(b, d, &f, name)) return copy_database(b, d->db.db, name, e);
    b->out->n_linked++;
    return true;
}

/* Writes a catalog that matches the snapshot. The catalog of the store may be newer by now. */
static bool make_catalog(backup *b, err *e)
{
    catalog c;
    day_opts o = b->r->o;
    o.dir = b->next;
    o.write = true;
    bool ok = catalog_open(&c, &o, e) && catalog_set(&c, "through", b->r->through, e);
    catalog_close(&c);
    return ok;
}

static bool copy_names(backup *b, err *e)
{
    names_db n;
    bool ok = names_open(&n, &b->r->o, e);
    if (ok && n.db.db) ok = copy_database(b, n.db.db, "names.db", e);
    names_close(&n);
    return ok;
}

/* ---- the journal ---- */

static bool is_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

/* Copies data but not reserved space, which becomes a hole. */
static bool copy_bytes(int from, int to, uint64_t *copied)
{
    char *piece = malloc(PIECE);
    off_t at = 0;
    bool ok = piece != NULL;
    for (ssize_t n; ok && (n = pread(from, piece, PIECE, at)) != 0; at += n) {
        ok = n > 0 && (is_zero(piece, (size_t)n) || pwrite(to, piece, (size_t)n, at) == n);
        if (ok) *copied += (uint64_t)n;
    }
    ok = ok && ftruncate(to, at) == 0 && fsync(to) == 0;
    free(piece);
    return ok;
}

static bool copy_file(backup *b, const char *name, err *e)
{
    char from[DAY_PATH], to[DAY_PATH];
    snprintf(from, sizeof from, "%s/%s", b->r->o.dir, name);
    snprintf(to, sizeof to, "%s/%s", b->next, name);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) return errno == ENOENT || err_sys(e, errno, "%s: cannot be read", from);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = out >= 0 && copy_bytes(in, out, &b->out->bytes);
    int why = errno;
    close(in);
    if (out >= 0) close(out);
    return ok || err_sys(e, why, "%s: cannot be written", to);
}

/* The reader has the segments locked, so that no process overwrites them. Records that arrive
 * during the copy may be in it or not. */
static bool copy_journal(backup *b, err *e)
{
    for (size_t i = 0; i < b->r->hold.n; i++) {
        const journal_segment *s = &b->r->hold.v[i];
        char name[32];
        snprintf(name, sizeof name, "raw-%08u.log", s->number);
        step(b, name);
        if (!copy_file(b, name, e)) return false;
        if (!manifest_put_segment(&b->has, &(manifest_segment){.number = s->number,
                                                               .salt = s->salt,
                                                               .first_seq = s->first_seq}))
            return err_sys(e, ENOMEM, "no memory for the manifest");
    }
    return true;
}

/* ---- the copy ---- */

static bool fill(backup *b, err *e)
{
    for (size_t i = 0; i < b->r->n_days; i++)
        if (!copy_day(b, b->r->days[i], e)) return false;
    for (size_t i = 0; i < b->r->listed.n_files; i++) /* the copy records lost files as lost, too */
        if (b->r->listed.files[i].lost && !manifest_put(&b->has, &b->r->listed.files[i]))
            return err_sys(e, ENOMEM, "no memory for the manifest");
    b->has.through = b->r->through;
    b->has.durable = b->r->listed.durable;
    b->has.lost_items = b->r->listed.lost_items;
    return copy_journal(b, e) && make_catalog(b, e) && copy_names(b, e) &&
           copy_file(b, "followed", e) && copy_file(b, "saved", e) && copy_file(b, "settings", e) &&
           manifest_save(&b->has, b->r->o.vfs, b->next, true, e);
}

bool backup_run(reader *r, const char *dest, const store_backup_opts *o, store_backup_result *out,
                err *e)
{
    backup b = {.r = r, .dest = dest, .o = o, .out = out};
    *out = (store_backup_result){0};
    if (snprintf(b.next, sizeof b.next, "%s.next", dest) >= (int)sizeof b.next)
        return err_set(e, ERR_USAGE, "the name of the directory is too long");
    err why = {0};
    (void)!manifest_load(&b.had, dest, &why); /* a damaged manifest has nothing to link */
    bool ok = (why.code == ERR_MALFORMED || may_replace(dest, &b.had, e)) &&
              remove_all(b.next, e) &&
              (mkdir(b.next, 0700) == 0 || err_sys(e, errno, "%s: cannot be created", b.next));
    if (ok) {
        ok = fill(&b, e);
        sync_path(b.next);
        ok = ok && exchange(&b, e);
        if (!ok) (void)!remove_all(b.next, NULL);
    }
    manifest_free(&b.had);
    manifest_free(&b.has);
    return ok;
}
