/* otlp/spool.h - a queue of batches on disk, oldest first, which survives restarts.
 *
 *   DIR/lock                                    one process at a time
 *   DIR/00000001700000000123456789-3.profiles.otlp    number, items, signal: an OTLP file like any other
 *
 * Files appear complete (temporary name, fsync, rename).  Their total size is bounded; the oldest
 * are deleted first and counted.  Profiles may contain secrets, so files have mode 0600 and the
 * directory 0700, whatever the umask is. */
#pragma once
#include "base/err.h"
#include "otlp/config.h"
#include "sys/file.h"

typedef struct spool spool;

#define SPOOL_MAX_BYTES (UINT64_C(256) << 20) /* default */

/* Creates the directory if needed, locks it, finds the files of an earlier process and removes its
 * unfinished files.  Fails with ERR_MISMATCH when another process uses the directory, otherwise
 * with ERR_SYS. */
NODISCARD spool *spool_open(const char *dir, otlp_signal s, uint64_t max_bytes, err *e);
void spool_close(spool *s);
/* Call it in the child of a fork.  Releases the child's copy of the lock. */
void spool_forked(spool *s);

typedef struct spool_lost {
    size_t batches;
    uint64_t items;
} spool_lost;

/* Stores a batch.  Deletes older batches that are not in use to make room, and counts them in
 * *lost.  Fails with ERR_LIMIT when the batch is larger than the spool, and with ERR_BUSY when
 * batches in use occupy the space. */
NODISCARD bool spool_put(spool *s, str bytes, size_t items, uint64_t wall, spool_lost *lost,
                         err *e);

size_t spool_count(const spool *s); /* batches on disk */
bool spool_waits(const spool *s);   /* whether there is a batch to take */
uint64_t spool_bytes(const spool *s);

typedef struct spool_batch {
    uint64_t number; /* for spool_drop and spool_return */
    size_t items;
    file_bytes file; /* free with file_release */
} spool_batch;

/* Takes the oldest batch that is not in use; its file stays on disk.  Returns false with e->code
 * ERR_OK when there is none.  Returns false with another code when the file cannot be read; then
 * number and items are set, and the batch counts as in use. */
NODISCARD bool spool_take(spool *s, spool_batch *out, err *e);
void spool_return(spool *s, uint64_t number); /* not delivered: it can be taken again */
void spool_drop(spool *s, uint64_t number);   /* delivered, or given up */
