/* agent/files.h - KILN_FILE: profiles as files, each written completely or not at all.
 *
 *   app-%p-%n.otlp   a new file at each flush; the last KILN_FILE_KEEP are kept
 *   app.otlp         one file, rewritten at each flush with all samples since the start; at FILES_MAX_BYTES
 *                    the next file begins: app.2.otlp */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"

enum { FILES_MAX_BYTES = 2 << 20 }; /* limit of a file that grows: each flush merges it */

typedef struct files {
    const char *name; /* pattern with %p and %n */
    uint32_t keep;    /* 0: all */
    uint32_t pid;
    uint64_t n; /* number of the next file; without %n: of the file that grows */
    bool grows, began;
    uint64_t written, failed; /* flushes */
} files;

/* Prepares *f.  Skips the numbers of existing files, because after an exec the new program has the
 * same pid. */
void files_open(files *f, const char *name, uint32_t keep, uint32_t pid);

/* Writes the model.  A failure is counted and leaves the existing file unchanged. */
NODISCARD bool files_put(files *f, const model *m, err *e);

/* Returns the first number without a file; 1 for a name without %n. */
uint64_t files_free_number(const char *name, uint32_t pid);

/* Returns the absolute name, allocated in `a`, because the program may change its directory.
 * `pattern`: the name may contain %p and %n, so each % in the directory is doubled.  Returns NULL
 * for NULL, and `name` when out of memory. */
const char *files_absolute(const char *name, bool pattern, arena *a);

/* Returns the pattern of a forked child, allocated in `a`.  Without %p, parent and child would
 * write the same file, so the child gets app.%p.otlp.  Returns NULL for NULL, and `name` when out
 * of memory. */
const char *files_of_child(const char *name, arena *a);

/* Appends the name of file number n.  Returns false when it is too long or a % is invalid. */
NODISCARD bool files_name(const char *name, uint32_t pid, uint64_t n, buf *out);
