/* agent/files.h - KILN_FILE: profiles as files that appear whole.
 *
 *   app-%p-%n.otlp   a file a flush; KILN_FILE_KEEP of them stay
 *   app.otlp         one file, made anew at each flush with all since the start.  At FILES_MAX_BYTES the
 *                    next one is begun: app.2.otlp */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"

enum { FILES_MAX_BYTES = 2 << 20 }; /* of a file that grows: it is read and joined at each flush */

typedef struct files {
    const char *name; /* with %p and %n */
    uint32_t keep;    /* 0: all */
    uint32_t pid;
    uint64_t n; /* the number of the next file; without %n: of the file that grows */
    bool grows, began;
    uint64_t written, failed; /* counters: flushes */
} files;

/* Numbers of files that are there already are left out: an image that execs has the pid of the one before. */
void files_open(files *f, const char *name, uint32_t keep, uint32_t pid);

/* Writes the model.  ERR_SYS, ERR_LIMIT: counted, and what was there before is as it was. */
NODISCARD bool files_put(files *f, const model *m, err *e);

/* The first number whose file is not there; 1 for a name without %n. */
uint64_t files_free_number(const char *name, uint32_t pid);

/* The name as it is meant now, wherever the program goes with chdir later; in `a`.  `pattern`: it may have
 * %p and %n, so a % of the directory is doubled.  NULL stays NULL; without memory the name as it is. */
const char *files_absolute(const char *name, bool pattern, arena *a);

/* The pattern that a forked child writes to: where its parent's has no %p, both would write the same file, so the
 * child's is app.%p.otlp.  In `a`; without memory, and NULL, the name as it is. */
const char *files_of_child(const char *name, arena *a);

/* The name of file number n; false: too long, or a % that is followed by neither p, n nor %. */
NODISCARD bool files_name(const char *name, uint32_t pid, uint64_t n, buf *out);
