/* store/names.h - names.db: function names by build id and address, from any source, so that
 * samples without names can get them later. Stored profiles do not change; reads with the option
 * `names` add the names. */
#pragma once
#include "store/day.h"
#include "model/builder.h"

typedef struct names_db {
    database db;
    sqlite3_stmt *find;
} names_db;

/* Without o->write a missing file is not an error: db.db is NULL. */
NODISCARD bool names_open(names_db *n, const day_opts *o, err *e);
void names_close(names_db *n);

/* Reads every row. Sets *damaged to the number of rows with a wrong checksum. */
NODISCARD bool names_verify(names_db *n, uint64_t *damaged, err *e);

/* Stores the lines of every location of m that has a build id, an address and lines. Sets *count to
 * the number of these locations. */
NODISCARD bool names_put(names_db *n, const model *m, uint64_t *count, err *e);

/* Adds stored lines to the locations of b that have a build id and an address but no lines. Called
 * right before builder_finish. */
NODISCARD bool names_apply(names_db *n, builder *b, err *e);
