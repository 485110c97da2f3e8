/* store/embedded_options.h - what only the embedded engine offers: options for tests and benches,
 * compaction in the caller's thread, and writing without a copy of the caller's bytes. */
#pragma once
#include <limits.h>
#include "store/store.h"

#define EMBEDDED_ALL_CORES UINT_MAX

/* The zero value selects the defaults. */
typedef struct embedded_opts {
    store_opts store;
    const char *vfs; /* name of the SQLite VFS for all files; NULL: the default VFS */
    bool no_sync;    /* "durable" means passed to the kernel; for tests and benches */
    bool no_threads; /* all work is done inside store_commit, store_compact and embedded_work */
    /* number of threads for compaction when more than compact_bytes wait; 0: EMBEDDED_ALL_CORES, or
     * one with no_threads */
    unsigned threads;
    /* Failpoints of tests: called with "written", "synced", "compacted", ... and store.ctx; may be
     * NULL. */
    void (*at)(void *ctx, const char *point);
} embedded_opts;

/* Like store_open, for a directory. */
NODISCARD store *embedded_open(const char *dir, const embedded_opts *o, err *e);

/* With no_threads: does one bounded step of compaction or retention. Sets *more when more is due
 * now. */
NODISCARD bool embedded_work(store *s, bool *more, err *e);

typedef struct embedded_reader_opts {
    store_reader_opts reader;
    const char *vfs; /* as in embedded_opts */
} embedded_reader_opts;

/* Like store_open_reader, for a directory. */
NODISCARD store_reader *embedded_open_reader(const char *dir, const embedded_reader_opts *o,
                                             err *e);

/* Returns whether the directory has files of a store; otherwise ERR_SYS or ERR_MALFORMED. */
NODISCARD bool embedded_is_store(const char *dir, err *e);

/* Memory of the caller around store_item.bytes that the store may write to. The store then writes
 * the bytes to the journal without copying them. The caller must not free or change them and the
 * memory around them until `done`. */
typedef struct embedded_room {
    size_t before, after; /* bytes before and after store_item.bytes */
} embedded_room;
