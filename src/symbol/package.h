/* symbol/package.h - how the debug symbols of a binary get onto this machine.  Reads the package manager's files; runs nothing. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Appends the command that brings the symbols of the file at `path`: "`apt install libc6-dbg` brings its symbols".  `build_id` is
 * GNU's as hex; may be empty.  false: nothing is known, nothing is appended. */
bool package_advice(str path, str build_id, buf *out);

/* The package of Debian's that owns the file, by the lists in `info` (/var/lib/dpkg/info); false: none. */
bool package_owner(const char *info, str path, char *out, size_t cap);
