/* otlp/spool.h - batches that wait on disk, oldest first, and survive a restart.
 *
 *   DIR/lock                                    one process at a time
 *   DIR/00000001700000000123456789-3.profiles.otlp    number, items, signal: an OTLP file like any other
 *
 * Files appear whole (temporary name, fsync, rename).  The sum of their sizes is bounded: the oldest go first,
 * and are counted. */
#pragma once
#include "base/err.h"
#include "otlp/config.h"
#include "sys/file.h"

typedef struct spool spool;

#define SPOOL_MAX_BYTES (UINT64_C(256) << 20) /* unless the caller says otherwise */

/* Makes the directory if there is none, takes its lock, finds what an earlier process left and removes its
 * unfinished files.  ERR_SYS; another process has it: ERR_MISMATCH. */
NODISCARD spool *spool_open(const char *dir, otlp_signal s, uint64_t max_bytes, err *e);
void spool_close(spool *s);
/* In the child of a fork: the lock stays the parent's alone. */
void spool_forked(spool *s);

typedef struct spool_lost {
    size_t batches;
    uint64_t items;
} spool_lost;

/* Keeps a batch; *lost counts the older ones that had to go.  ERR_LIMIT: larger than all of the spool. */
NODISCARD bool spool_put(spool *s, str bytes, size_t items, uint64_t wall, spool_lost *lost,
                         err *e);

size_t spool_count(const spool *s);
uint64_t spool_bytes(const spool *s);

/* The oldest batch: its items and bytes (file_release gives them back).  false with e->code ERR_OK: empty. */
NODISCARD bool spool_oldest(const spool *s, size_t *items, file_bytes *out, err *e);
void spool_drop_oldest(spool *s); /* delivered, or given up */
