/* sys/file.h - whole files in, whole files out.  `-` is stdin or stdout. */
#pragma once
#include "base/err.h"
#include "base/source.h"
#include "base/str.h"

enum { FILE_MAP_MIN = 1 << 20 }; /* regular files from here on are mapped, smaller ones read */

typedef struct file_bytes {
    str bytes;
    bool mapped;
} file_bytes;

/* All of a file, a pipe or stdin (path "-").  More than max_bytes is ERR_LIMIT (0 = no limit);
 * ERR_SYS otherwise.  A mapped file must not shrink while it is looked at. */
NODISCARD bool file_read(const char *path, size_t max_bytes, file_bytes *out, err *e);
/* The same for a path that somebody else chose: only a regular file is opened, never a pipe or a device. */
NODISCARD bool file_read_regular(const char *path, size_t max_bytes, file_bytes *out, err *e);
void file_release(file_bytes *f);

/* The first n bytes have been looked at: a mapped file gives their pages back.  They may be looked
 * at again, at the cost of a page fault. */
void file_pass(const file_bytes *f, size_t n);

/* The same piece by piece; NULL: `e` says why.  source_close gives it back. */
NODISCARD source *file_open(const char *path, err *e);

/* An output that appears whole or not at all: written under a temporary name in the same directory,
 * synced, renamed.  Devices and pipes (and "-") are written through. */
typedef struct file_out {
    int fd;
    bool temporary; /* `name` holds the temporary name */
    char *path, *name;
} file_out;

NODISCARD bool file_create(const char *path, file_out *out, err *e);
NODISCARD bool file_put(file_out *out, str bytes, err *e);
/* Makes it appear.  After false, as after file_abandon, nothing is left behind. */
NODISCARD bool file_commit(file_out *out, err *e);
void file_abandon(file_out *out);

/* Renames what is there to PATH.old, in place of an older one; *kept says whether there was something. */
NODISCARD bool file_set_aside(const char *path, bool *kept, err *e);

/* Could a file be made (or replaced) there?  ERR_SYS: no, and why. */
NODISCARD bool file_placeable(const char *path, err *e);

/* create, put, commit. */
NODISCARD bool file_write(const char *path, str bytes, err *e);
/* The same for the owner alone (0600): what may hold secrets and nobody asked for by name. */
NODISCARD bool file_write_private(const char *path, str bytes, err *e);
