/* symbol/package.h - the command that installs the debug symbols of a binary.  Reads files of the
 * package manager; runs nothing. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Appends a sentence with the command for the file at `path`: "`apt install libc6-dbg` installs its
 * debug symbols". `build_id` is the GNU build id in hex, or empty. Returns false and appends
 * nothing if no command is known. */
bool package_advice(str path, str build_id, buf *out);

/* Finds the Debian package that owns the file, by the lists in `info` (/var/lib/dpkg/info). Returns
 * false if there is none. */
bool package_owner(const char *info, str path, char *out, size_t cap);
