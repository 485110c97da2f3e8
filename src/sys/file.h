/* sys/file.h - reads and writes whole files.  `-` is stdin or stdout. */
#pragma once
#include "base/err.h"
#include "base/source.h"
#include "base/str.h"

enum { FILE_MAP_MIN = 1 << 20 }; /* larger regular files are mapped, smaller ones read */

typedef struct file_bytes {
    str bytes;
    bool mapped;
} file_bytes;

/* Reads all of a file, a pipe or stdin (path "-").  Fails with ERR_LIMIT when it has more than
 * max_bytes (0: no limit), otherwise with ERR_SYS.  If a mapped file shrinks while it is
 * used, its bytes become zeros (sys/map_guard.h). */
NODISCARD bool file_read(const char *path, size_t max_bytes, file_bytes *out, err *e);
/* file_read for a path from an untrusted source: opens only a regular file, never a pipe or a
 * device, and reads only as many bytes as it has when it is opened. */
NODISCARD bool file_read_regular(const char *path, size_t max_bytes, file_bytes *out, err *e);
/* Reads or maps as many bytes of an open regular file as `st` says, fewer if it has fewer now: a file
 * that grows does not end otherwise. */
struct stat;
NODISCARD bool file_read_part(int fd, const struct stat *st, size_t max_bytes, file_bytes *out,
                              err *e);
void file_release(file_bytes *f);

/* Called when the caller has processed the first n bytes: releases their pages if the file is
 * mapped.  They can be read again, at the cost of page faults. */
void file_pass(const file_bytes *f, size_t n);
/* Maps a regular file of any size, for files that stay open: its pages are not memory of the
 * process that must be kept. */
NODISCARD bool file_map(const char *path, file_bytes *out, err *e);

/* Called when few, scattered bytes will be read: a page fault then maps one page of the file instead
 * of sixteen. */
void file_sparse(const file_bytes *f);

/* Opens a file, a pipe or stdin for reading in pieces.  Returns NULL on failure; `e` has the
 * reason.  The caller closes it with source_close. */
NODISCARD source *file_open(const char *path, err *e);

/* An output that is written completely or not at all: it is written under a temporary name in the
 * same directory, synced and renamed.  Devices, pipes and "-" are written directly. */
typedef struct file_out {
    int fd;
    bool temporary; /* `name` is the temporary name */
    char *path, *name;
} file_out;

NODISCARD bool file_create(const char *path, file_out *out, err *e);
NODISCARD bool file_put(file_out *out, str bytes, err *e);
/* Renames the file to its final name.  Returns false, and leaves no file, on failure. */
NODISCARD bool file_commit(file_out *out, err *e);
void file_abandon(file_out *out);

/* Renames an existing file to PATH.old, replacing an older one.  Sets *kept if there was one. */
NODISCARD bool file_set_aside(const char *path, bool *kept, err *e);

/* Returns whether a file could be created or replaced at `path`; ERR_SYS with the reason if not. */
NODISCARD bool file_placeable(const char *path, err *e);

/* Calls file_create, file_put and file_commit. */
NODISCARD bool file_write(const char *path, str bytes, err *e);
/* file_write with mode 0600, for content that may be secret. */
NODISCARD bool file_write_private(const char *path, str bytes, err *e);
