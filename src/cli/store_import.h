/* cli/store_import.h - `kiln store import`: adds files to a store, with memory independent of the
 * number of messages.
 *
 *   file ─ payload by payload ─ pieces of whole profiles ─ encoded ─► store_put, with a commit every few MiB
 *
 * If the backlog of the store is full, it is compacted before the next piece. */
#pragma once
#include "cli/cli.h"
#include "store/store.h"

typedef struct importing {
    cli *c;
    store *store; /* open for writing, with no_threads */
    uint64_t stored, duplicates;
    size_t waiting;     /* bytes not yet committed */
    size_t n_compacted; /* how often the backlog was full */
} importing;

/* Imports one file and adds to the counts of *x.  Pieces before an error remain stored.  Returns
 * false after reporting a failure. */
bool import_file(importing *x, const char *path);
