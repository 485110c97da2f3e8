/* debuginfod/path.h - paths of requests to a debuginfod server, from build ids and file names that
 * anybody may have sent.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

enum {
    DEBUGINFOD_MAX_ID = 128,        /* hex digits of a build id */
    DEBUGINFOD_MAX_PATH = 4 * 1024, /* bytes of a file name */
};

/* Appends "/buildid/HEX/source/usr/src/a%20b.c".  The build id becomes lower case.  `path` must be
 * absolute; "//", "." and ".." are resolved without looking at files.  ERR_USAGE. */
NODISCARD bool debuginfod_source_path(str build_id, str path, buf *out, err *e);
