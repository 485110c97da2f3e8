/* store/catalog.h - catalog.db: numbers that must outlive the day files. `through` is the last
 * journal number that was compacted. Day files record it, too, but retention may remove them. */
#pragma once
#include "store/day.h"

typedef struct catalog {
    database db;
    bool write;
} catalog;

/* Without o->write a missing catalog counts as empty (db.db is NULL). */
NODISCARD bool catalog_open(catalog *c, const day_opts *o, err *e);
void catalog_close(catalog *c);

/* Reads and writes a number by name: "through", "quarantined", "dropped_files", "dropped_samples".
 * A number that is not set is 0. */
NODISCARD bool catalog_get(catalog *c, const char *name, uint64_t *out, err *e);
NODISCARD bool catalog_set(catalog *c, const char *name, uint64_t v, err *e);
