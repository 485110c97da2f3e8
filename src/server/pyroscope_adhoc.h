/* server/pyroscope_adhoc.h - files that users of Grafana look at without storing them.
 *
 * The server keeps the newest ones in memory, at most ADHOC_MAX files of ADHOC_BYTES in all, until it
 * stops.  Callable from any thread. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum { ADHOC_MAX = 32, ADHOC_BYTES = 64 << 20, ADHOC_FILE = 16 << 20, ADHOC_ID = 17 };

typedef struct adhoc adhoc;

typedef struct adhoc_file {
    char id[ADHOC_ID]; /* hex digits, derived from the bytes */
    str name, bytes;
    uint64_t uploaded; /* Unix ns */
} adhoc_file;

typedef VEC(adhoc_file) adhoc_files;

NODISCARD adhoc *adhoc_open(err *e);
void adhoc_close(adhoc *a);
/* Keeps a copy of the file and sets file->id.  The same bytes have the same id.  ERR_LIMIT. */
NODISCARD bool adhoc_put(adhoc *a, adhoc_file *file, err *e);
/* Copies a file into the arena.  ERR_UNSUPPORTED: there is no file with this id. */
NODISCARD bool adhoc_get(adhoc *a, str id, arena *to, adhoc_file *out, err *e);
/* Lists the files without their bytes, newest first. */
NODISCARD bool adhoc_list(adhoc *a, arena *to, adhoc_files *out, err *e);
