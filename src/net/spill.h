/* net/spill.h - stores the body of a large response in an unnamed file, so that slow clients do not
 * occupy memory.  One thread writes the file; then any number of handles read it. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <sys/types.h>

typedef struct spill {
    int fd; /* -1: none */
    uint64_t size;
} spill;

#define SPILL_NONE ((spill){.fd = -1})

/* Creates an empty file in `dir` that no other process can open.  It is deleted when its last
 * handle is closed.  On failure *out is SPILL_NONE. */
NODISCARD bool spill_open(const char *dir, spill *out, err *e);
/* Appends bytes.  After a failure only spill_close may be called. */
NODISCARD bool spill_append(spill *s, str bytes, err *e);
/* Opens a file and writes `bytes` to it. */
NODISCARD bool spill_write(const char *dir, str bytes, spill *out, err *e);
/* Sets *out to another handle of the same file.  Returns false when no descriptor is left. */
NODISCARD bool spill_share(const spill *s, spill *out);
/* Reads bytes [at, at + n), but not beyond the size.  Returns the number of bytes, or -1 when the
 * file cannot be read or was truncated. */
NODISCARD ssize_t spill_read(const spill *s, uint64_t at, void *p, size_t n);
void spill_close(spill *s); /* accepts SPILL_NONE */
