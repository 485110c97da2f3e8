/* otlp/spool.h - batches that wait on disk, oldest first, and survive a restart.
 *
 *   DIR/lock                                    one process at a time
 *   DIR/00000001700000000123456789-3.profiles.otlp    number, items, signal: an OTLP file like any other
 *
 * Files appear whole (temporary name, fsync, rename).  The sum of their sizes is bounded: the oldest go first,
 * and are counted.  Profiles can hold secrets: files are
 * 0600 and the directory is 0700, whatever the umask says. */
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

/* Keeps a batch; *lost counts the older ones that had to go, which are never those that were taken.  ERR_LIMIT: larger than all of
 * the spool, or than what the taken ones leave of it. */
NODISCARD bool spool_put(spool *s, str bytes, size_t items, uint64_t wall, spool_lost *lost,
                         err *e);

size_t spool_count(const spool *s); /* batches on disk */
bool spool_waits(const spool *s);   /* is there one that nobody has taken? */
uint64_t spool_bytes(const spool *s);

typedef struct spool_batch {
    uint64_t number; /* for spool_drop and spool_return */
    size_t items;
    file_bytes file; /* file_release gives it back */
} spool_batch;

/* Takes the oldest batch that nobody has taken; it stays on disk.  false with e->code ERR_OK: there is none.  Another code: it cannot
 * be read; its number and items are set, and it counts as taken. */
NODISCARD bool spool_take(spool *s, spool_batch *out, err *e);
void spool_return(spool *s, uint64_t number); /* it was not delivered: whoever takes next gets it */
void spool_drop(spool *s, uint64_t number);   /* delivered, or given up */
