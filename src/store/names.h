/* store/names.h - names.db: what addresses of binaries are called, whoever said so, so that samples that came without names can
 * gain them later.  What was received stays what it was; answers that ask for names get them. */
#pragma once
#include "store/day.h"
#include "model/builder.h"

typedef struct names_db {
    database db;
    sqlite3_stmt *find;
} names_db;

/* Without write: none there is no failure, db.db is NULL. */
NODISCARD bool names_open(names_db *n, const day_opts *o, err *e);
void names_close(names_db *n);

/* Reads every row; *damaged: those whose checksum is wrong. */
NODISCARD bool names_verify(names_db *n, uint64_t *damaged, err *e);

/* Keeps the lines of every location of m that has a build id, an address and lines; *count: how many. */
NODISCARD bool names_put(names_db *n, const model *m, uint64_t *count, err *e);

/* Gives the locations of b that have a build id, an address and no lines those that are known.  The last thing before
 * builder_finish. */
NODISCARD bool names_apply(names_db *n, builder *b, err *e);
