/* store/vfile.h - plain files through the same SQLite VFS as the databases, so that whoever watches or breaks the one (tests
 * do) has the other, too. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct sqlite3_vfs sqlite3_vfs;
typedef struct vfile vfile;

/* The VFS of that name; NULL: the usual one.  ERR_USAGE when there is none. */
NODISCARD bool vfs_find(const char *name, sqlite3_vfs **out, err *e);

typedef enum vfile_mode { VFILE_READ, VFILE_WRITE /* made if it is not there */ } vfile_mode;

/* NULL: `e` says why (ERR_SYS; sys = ENOENT when there is none). */
NODISCARD vfile *vfile_open(sqlite3_vfs *vfs, const char *path, vfile_mode mode, err *e);
void vfile_close(vfile *f);

NODISCARD bool vfile_size(vfile *f, uint64_t *n, err *e);
/* Up to n bytes; *got is less at the end of the file. */
NODISCARD bool vfile_read(vfile *f, uint64_t at, void *p, size_t n, size_t *got, err *e);
NODISCARD bool vfile_write(vfile *f, uint64_t at, str bytes, err *e);
/* Several parts, one behind the other. */
NODISCARD bool vfile_write_all(vfile *f, uint64_t at, const str *parts, size_t n, err *e);

/* Reads or writes, as it was opened, that go without a copy in the kernel's memory: place, address and length have to be multiples of
 * VFILE_DIRECT; others go as usual.  false: not here (the file system, or a VFS that is not the usual one). */
enum { VFILE_DIRECT = 4096 };
bool vfile_go_direct(vfile *f);
/* Data on disk; the first sync of a new file also makes its name durable. */
NODISCARD bool vfile_sync(vfile *f, err *e);
/* Takes room on the disk now, so that writing does not have to. */
NODISCARD bool vfile_reserve(vfile *f, uint64_t n, err *e);
/* Ends the file there, if the disk lets it: after a failure, when nothing better can be done. */
void vfile_cut(vfile *f, uint64_t n);
bool vfile_remove(sqlite3_vfs *vfs, const char *path, err *e);

/* ERR_SYS for an SQLite result code; ENOSPC and EIO by what it says. */
bool sqlite_failed(err *e, int rc, const char *what, const char *path);
/* The same for a file that could not be opened: ENOENT only if it is not there. */
bool open_failed(err *e, int rc, const char *path);
