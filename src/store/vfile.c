/* Plain files through an SQLite VFS (vfile.h). Direct I/O bypasses the VFS and is used only with
 * SQLite's "unix" VFS; requests that it cannot handle go through the VFS. */
#include "store/vfile.h"

#include "store/owner_only.h"
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/ban.h"

struct vfile {
    char *path;
    sqlite3_vfs *vfs;
    sqlite3_file *f; /* szOsFile bytes after this struct */
    vfile_mode mode;
    int direct; /* the same file with O_DIRECT; -1: none */
};

bool sqlite_failed(err *e, int rc, const char *what, const char *path)
{
    int primary = rc & 0xff;
    int sys = primary == SQLITE_FULL       ? ENOSPC
              : primary == SQLITE_IOERR    ? EIO
              : primary == SQLITE_CANTOPEN ? ENOENT
              : primary == SQLITE_READONLY ? EROFS
              : primary == SQLITE_PERM     ? EACCES
              : primary == SQLITE_BUSY     ? EBUSY
              : primary == SQLITE_NOMEM    ? ENOMEM
                                           : EIO;
    if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
        return err_set(e, ERR_MALFORMED, "%s: %s (%s)", path, what, sqlite3_errstr(rc));
    return err_sys(e, sys, "%s: %s (%s)", path, what, sqlite3_errstr(rc));
}

bool vfs_find(const char *name, sqlite3_vfs **out, err *e)
{
    sqlite3_initialize();
    *out = sqlite3_vfs_find(name);
    return *out ||
           err_set(e, ERR_USAGE, "SQLite has no VFS named %s", name ? name : "(the default)");
}

bool open_failed(err *e, int rc, const char *path)
{
    /* SQLITE_CANTOPEN may also mean too many open files, so this checks whether the file is
     * missing. */
    if ((rc & 0xff) == SQLITE_CANTOPEN && access(path, F_OK) == 0)
        return err_sys(e, EMFILE, "%s: cannot be opened (%s)", path, sqlite3_errstr(rc));
    return sqlite_failed(e, rc, "cannot be opened", path);
}

vfile *vfile_open(sqlite3_vfs *vfs, const char *path, vfile_mode mode, err *e)
{
    vfile *f = calloc(1, sizeof *f + (size_t)vfs->szOsFile);
    /* xOpen keeps the name, and expects the format of sqlite3_open: terminated twice. */
    size_t n = strlen(path);
    if (f) f->path = calloc(1, n + 4);
    if (!f || !f->path) {
        free(f);
        return (void)err_sys(e, ENOMEM, "no memory to open %s", path), NULL;
    }
    memcpy(f->path, path, n);
    f->f = (sqlite3_file *)(void *)(f + 1);
    f->vfs = vfs;
    f->mode = mode;
    f->direct = -1;
    /* With SUPER_JOURNAL the unix VFS syncs the directory with the first sync of a new file. */
    int flags = SQLITE_OPEN_SUPER_JOURNAL |
                (mode == VFILE_READ ? SQLITE_OPEN_READONLY
                                    : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE),
        got;
    if (mode == VFILE_WRITE) owner_only_make(f->path);
    int rc = vfs->xOpen(vfs, f->path, f->f, flags, &got);
    if (rc == SQLITE_OK) return f;
    open_failed(e, rc, path);
    if (f->f->pMethods) f->f->pMethods->xClose(f->f);
    free(f->path);
    free(f);
    return NULL;
}

void vfile_close(vfile *f)
{
    if (!f) return;
    if (f->direct >= 0) close(f->direct);
    if (f->f->pMethods) f->f->pMethods->xClose(f->f);
    free(f->path);
    free(f);
}

bool vfile_go_direct(vfile *f)
{
    /* The name is checked because the default VFS may be one that breaks files for a test. */
    if (f->direct < 0 && strcmp(f->vfs->zName, "unix") == 0)
        f->direct =
            open(f->path, (f->mode == VFILE_READ ? O_RDONLY : O_WRONLY) | O_DIRECT | O_CLOEXEC);
    return f->direct >= 0;
}

static bool is_even(uint64_t at, const str *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].n) at |= v[i].n | (uintptr_t)v[i].p;
    return at % VFILE_DIRECT == 0;
}

static void leave_direct(vfile *f)
{
    close(f->direct);
    f->direct = -1;
}

enum { PARTS = 64 }; /* parts per system call */

/* Returns whether everything was written. If not, the caller writes it again through the VFS, which
 * reports errors. */
static bool write_direct(vfile *f, uint64_t at, const str *v, size_t n)
{
    struct iovec some[PARTS];
    for (size_t i = 0; i < n;) {
        int k = 0;
        size_t bytes = 0;
        for (; i < n && k < PARTS; i++) {
            if (!v[i].n) continue;
            some[k++] = (struct iovec){(char *)(uintptr_t)v[i].p, v[i].n};
            bytes += v[i].n;
        }
        ssize_t done = k ? pwritev(f->direct, some, k, (off_t)at) : 0;
        if (done < 0 || (size_t)done != bytes) return leave_direct(f), false;
        at += bytes;
    }
    return true;
}

/* Reads as much as possible and returns its size. The caller reads the rest through the VFS. */
static size_t read_direct(vfile *f, uint64_t at, char *p, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(f->direct, p + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) leave_direct(f);
        if (got <= 0) break;
        done += (size_t)got;
        if (got % VFILE_DIRECT) break; /* the end of the file */
    }
    return done;
}

bool vfile_size(vfile *f, uint64_t *n, err *e)
{
    sqlite3_int64 size = 0;
    int rc = f->f->pMethods->xFileSize(f->f, &size);
    *n = (uint64_t)size;
    return rc == SQLITE_OK || sqlite_failed(e, rc, "its size is not known", f->path);
}

enum { PIECE_MAX = 1 << 16 }; /* the unix VFS supports lengths of 17 bits */

bool vfile_read(vfile *f, uint64_t at, void *p, size_t n, size_t *got, err *e)
{
    uint64_t size;
    *got = 0;
    if (!vfile_size(f, &size, e)) return false;
    if (at >= size) return true;
    if (f->direct >= 0 && is_even(at, &(str){p, n}, 1)) *got = read_direct(f, at, p, n);
    if (n > size - at) n = (size_t)(size - at);
    for (size_t piece; *got < n; *got += piece) {
        piece = n - *got < PIECE_MAX ? n - *got : PIECE_MAX;
        int rc =
            f->f->pMethods->xRead(f->f, (char *)p + *got, (int)piece, (sqlite3_int64)(at + *got));
        if (rc == SQLITE_IOERR_SHORT_READ) return true; /* truncated since its size was read */
        if (rc != SQLITE_OK) return sqlite_failed(e, rc, "cannot be read", f->path);
    }
    return true;
}

bool vfile_write(vfile *f, uint64_t at, str bytes, err *e)
{
    for (size_t done = 0, piece; done < bytes.n; done += piece) {
        piece = bytes.n - done < PIECE_MAX ? bytes.n - done : PIECE_MAX;
        int rc =
            f->f->pMethods->xWrite(f->f, bytes.p + done, (int)piece, (sqlite3_int64)(at + done));
        if (rc != SQLITE_OK) return sqlite_failed(e, rc, "cannot be written", f->path);
    }
    return true;
}

bool vfile_write_all(vfile *f, uint64_t at, const str *parts, size_t n, err *e)
{
    if (f->direct >= 0 && is_even(at, parts, n) && write_direct(f, at, parts, n)) return true;
    for (size_t i = 0; i < n; at += parts[i++].n)
        if (!vfile_write(f, at, parts[i], e)) return false;
    return true;
}

bool vfile_sync(vfile *f, err *e)
{
    int rc = f->f->pMethods->xSync(f->f, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    return rc == SQLITE_OK || sqlite_failed(e, rc, "cannot be synced", f->path);
}

bool vfile_reserve(vfile *f, uint64_t n, err *e)
{
    int chunk = 1 << 16;
    sqlite3_int64 size = (sqlite3_int64)n;
    (void)f->f->pMethods->xFileControl(f->f, SQLITE_FCNTL_CHUNK_SIZE, &chunk);
    int rc = f->f->pMethods->xFileControl(f->f, SQLITE_FCNTL_SIZE_HINT, &size);
    return rc == SQLITE_OK || rc == SQLITE_NOTFOUND ||
           sqlite_failed(e, rc, "cannot reserve disk space", f->path);
}

void vfile_cut(vfile *f, uint64_t n)
{
    int chunk = 0; /* otherwise the unix VFS rounds up */
    (void)f->f->pMethods->xFileControl(f->f, SQLITE_FCNTL_CHUNK_SIZE, &chunk);
    (void)f->f->pMethods->xTruncate(f->f, (sqlite3_int64)n);
}

bool vfile_remove(sqlite3_vfs *vfs, const char *path, err *e)
{
    int rc = vfs->xDelete(vfs, path, 0);
    return rc == SQLITE_OK || rc == SQLITE_IOERR_DELETE_NOENT ||
           sqlite_failed(e, rc, "cannot be removed", path);
}
