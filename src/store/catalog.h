/* store/catalog.h - catalog.db: what has to outlive the day files.
 *
 * `through` is the last number of the journal that was compacted, in case the file that says so is removed by retention. */
#pragma once
#include "store/day.h"

typedef struct catalog {
    database db;
    bool write;
} catalog;

/* Without write: a catalogue that is not there is empty (db.db is NULL). */
NODISCARD bool catalog_open(catalog *c, const day_opts *o, err *e);
void catalog_close(catalog *c);

/* Numbers by name: "through", "quarantined", "dropped_files", "dropped_samples".  0: not there. */
NODISCARD bool catalog_get(catalog *c, const char *name, uint64_t *out, err *e);
NODISCARD bool catalog_set(catalog *c, const char *name, uint64_t v, err *e);
