/* cli/store_import.h - `kiln store import`: files into a store, in memory that does not grow with their number of messages.
 *
 *   file ─ payload by payload ─ pieces of whole profiles ─ encoded ─► store_put, and a commit for every few MiB
 *
 * A store whose backlog is full is compacted before the next piece is put. */
#pragma once
#include "cli/cli.h"
#include "store/store.h"

typedef struct importing {
    cli *c;
    store *store; /* open for writing, with no_threads */
    uint64_t stored, duplicates;
    size_t waiting;     /* bytes that were put and not committed */
    size_t n_compacted; /* times that the backlog was full */
} importing;

/* Adds to the counts of *x; what comes before an error is stored.  false: reported. */
bool import_file(importing *x, const char *path);
