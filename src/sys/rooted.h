/* sys/rooted.h - opens files at paths that another process controls.
 *
 * Such a process may have another root directory, and anything may be at the path: a symbolic link
 * to a file outside of that root, a pipe that waits for a writer, a device, or a file that grows.
 * These functions open only regular files.  Symbolic links are resolved below the root. */
#pragma once
#include "sys/file.h"
#include <sys/stat.h>

/* Finds a regular file.  root: the root directory of the process, such as /proc/PID/root; NULL:
 * kiln's own.  Returns a descriptor for rooted_read() or close(), and sets *st; -1 on failure. */
NODISCARD int rooted_find(const char *root, const char *path, struct stat *st, err *e);

/* Reads or maps the file, as large as `st` says.  ERR_LIMIT when that is more than max_bytes (0: no
 * limit).  Closes `found`. */
NODISCARD bool rooted_read(int found, const struct stat *st, size_t max_bytes, file_bytes *out,
                           err *e);

/* Calls both. */
NODISCARD bool rooted_read_path(const char *root, const char *path, size_t max_bytes,
                                file_bytes *out, err *e);
