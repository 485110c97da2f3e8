/* net/spill.h - the body of a large response, in a file without a name: while its client takes it, it waits on disk and not in memory.
 *
 * Written by one thread; then only read, by any number of holders. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <sys/types.h>

typedef struct spill {
    int fd; /* -1: none */
    uint64_t size;
} spill;

#define SPILL_NONE ((spill){.fd = -1})

/* A new file in `dir`, empty, which nobody else can open; gone with its last holder.  false: *out is SPILL_NONE. */
NODISCARD bool spill_open(const char *dir, spill *out, err *e);
/* false: the file is not to be used, only closed. */
NODISCARD bool spill_append(spill *s, str bytes, err *e);
/* Both at once. */
NODISCARD bool spill_write(const char *dir, str bytes, spill *out, err *e);
/* Another holder of the same file.  false: no descriptor is left. */
NODISCARD bool spill_share(const spill *s, spill *out);
/* Bytes [at, at + n), cut to the size; -1: the file cannot be read, or is shorter than it was. */
NODISCARD ssize_t spill_read(const spill *s, uint64_t at, void *p, size_t n);
void spill_close(spill *s); /* SPILL_NONE is fine */
