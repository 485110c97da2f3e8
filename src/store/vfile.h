/* store/vfile.h - plain files through the same SQLite VFS as the databases, so that tests that
 * observe or break the VFS cover both. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct sqlite3_vfs sqlite3_vfs;
typedef struct vfile vfile;

/* Finds the VFS with this name; a NULL name means the default VFS. ERR_USAGE: there is none. */
NODISCARD bool vfs_find(const char *name, sqlite3_vfs **out, err *e);

typedef enum vfile_mode { VFILE_READ, VFILE_WRITE /* created if missing */ } vfile_mode;

/* Returns NULL on failure (ERR_SYS; sys is ENOENT when the file is missing). */
NODISCARD vfile *vfile_open(sqlite3_vfs *vfs, const char *path, vfile_mode mode, err *e);
void vfile_close(vfile *f);

NODISCARD bool vfile_size(vfile *f, uint64_t *n, err *e);
/* Reads up to n bytes. *got is less than n at the end of the file. */
NODISCARD bool vfile_read(vfile *f, uint64_t at, void *p, size_t n, size_t *got, err *e);
NODISCARD bool vfile_write(vfile *f, uint64_t at, str bytes, err *e);
/* Writes several parts, one after the other. */
NODISCARD bool vfile_write_all(vfile *f, uint64_t at, const str *parts, size_t n, err *e);

/* Switches to direct I/O, which bypasses the page cache. It applies to requests whose position,
 * address and length are multiples of VFILE_DIRECT. Returns false when the file system or the VFS
 * does not support it. */
enum { VFILE_DIRECT = 4096 };
bool vfile_go_direct(vfile *f);
/* Makes the data durable. The first sync of a new file also makes its name durable. */
NODISCARD bool vfile_sync(vfile *f, err *e);
/* Reserves disk space now, so that later writes do not run out of it. */
NODISCARD bool vfile_reserve(vfile *f, uint64_t n, err *e);
/* Truncates the file, after a failure. Errors are ignored. */
void vfile_cut(vfile *f, uint64_t n);
bool vfile_remove(sqlite3_vfs *vfs, const char *path, err *e);

/* Sets ERR_SYS for an SQLite result code, with errno ENOSPC or EIO, and returns false. */
bool sqlite_failed(err *e, int rc, const char *what, const char *path);
/* Like sqlite_failed, for a file that could not be opened. errno is ENOENT only if the file is
 * missing. */
bool open_failed(err *e, int rc, const char *path);
