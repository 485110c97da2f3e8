/* store/day.h - one file of the store: an SQLite database with the items that arrived on one day
 * (UTC), or a part of them.
 *
 *   2026-11-15.0.db    day of arrival, part
 *
 * The file is chosen by the day of arrival, not by the time of the samples. So a sender with a
 * wrong clock can neither create files without bound nor have its data removed early, an imported
 * old recording stays for the whole retention time, a profile is never split, and the files of past
 * days do not change. When the dictionary or the file gets large, a new part begins: that bounds
 * memory, and retention by size can remove parts. */
#pragma once
#include "store/block.h"
#include "store/vfile.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum { DAY_FORMAT = 1, DAY_NAME = 32, DAY_PATH = 4096 };

/* Seeds of the checksums, by kind of blob. */
enum { SEAL_TABLES = 1, SEAL_SERIES, SEAL_LOCAL, SEAL_BLOCK, SEAL_PAYLOAD, SEAL_RAW, SEAL_KEYS };

typedef struct day_name {
    int64_t day; /* days since 1970-01-01 */
    uint32_t part;
} day_name;

void day_name_text(day_name n, char out[DAY_NAME]);
NODISCARD bool day_name_parse(const char *text, day_name *out);
static inline int day_name_cmp(day_name a, day_name b)
{
    return a.day != b.day ? (a.day > b.day) - (a.day < b.day)
                          : (a.part > b.part) - (a.part < b.part);
}

typedef struct day_names {
    day_name *v; /* oldest first; malloc'ed */
    size_t n, cap;
} day_names;

NODISCARD bool day_list(const char *dir, day_names *out, err *e);

typedef struct day_opts {
    sqlite3_vfs *vfs;
    const char *dir;
    bool write, no_sync;
    uint64_t seed; /* random, for hash tables */
} day_opts;

/* ---- the database ---- */

typedef struct database {
    char path[DAY_PATH];
    sqlite3 *db;
} database;

/* Opens d->path without checking its format. Without o->write it is opened for reading, also on a
 * read-only file system. */
NODISCARD bool database_open_path(database *d, const day_opts *o, err *e);
NODISCARD bool database_open(database *d, const day_opts *o, day_name name, err *e);
void database_close(database *d);
NODISCARD bool database_run(database *d, const char *sql, err *e);
/* Returns a statement, which the caller finalizes; NULL on failure. */
NODISCARD sqlite3_stmt *database_prepare(database *d, const char *sql, err *e);
/* Sets *row to whether there is a row. */
NODISCARD bool database_step(database *d, sqlite3_stmt *s, bool *row, err *e);
bool database_failed(database *d, int rc, err *e); /* returns false */
NODISCARD bool database_number(database *d, const char *sql, uint64_t *out,
                               err *e); /* *out: first column of the first row; 0: no row */
/* Returns meta.through of a file of any format; 0 when it cannot be read. */
uint64_t database_through(const day_opts *o, day_name name);
str column_bytes(sqlite3_stmt *s, int i);
/* Settles a commit that failed or was never synced: afterwards it is either durable or void. */
NODISCARD bool database_settle(database *d, err *e);

/* Convert times to and from SQLite's signed integers. Larger times become the maximum. */
static inline int64_t time_in(uint64_t t) { return t > INT64_MAX ? INT64_MAX : (int64_t)t; }

/* ---- reading ---- */

typedef struct day_series {
    block_series s;
    uint32_t id; /* row */
} day_series;

typedef struct day {
    day_name name;
    database db;
    uint64_t inode; /* identifies the file: another one may get its name */
    arena a;        /* tables and series */
    tables t;
    VEC(day_series) series; /* by row */
    hash_index by_id;
    uint64_t tables_row, series_row, local_row; /* the last rows that were read */
    uint64_t finished; /* how often its rows were rewritten (day_finish.c) */
    uint64_t through;  /* in the snapshot */
    uint64_t n_raw;    /* items stored as received */
    bool reading, bad;
    uint64_t compared; /* 1 + `through` of the manifest line that it was compared with */
    sqlite3_stmt *begin, *commit, *read_through, *read_ids, *read_block; /* prepared once */
    VEC(int64_t) ids;                                                    /* result of day_blocks */
    size_t next_id;
} day;

/* Returns NULL on failure. ERR_MALFORMED: the file is damaged. */
NODISCARD day *day_open(const day_opts *o, day_name name, size_t memory, err *e);
void day_close(day *d);
/* Returns whether the name still refers to this file. It may have been set aside or removed, and a
 * new file created. */
bool day_is_there(const day *d);

/* Begins a snapshot of the file and reads the new rows of its tables. */
NODISCARD bool day_begin(day *d, zipper *z, err *e);
void day_end(day *d);

typedef struct day_block {
    uint64_t id;
    const day_series *series;
    uint64_t first, last, n_profiles, n_samples, n_observations;
    int64_t total;
} day_block;

/* Returns a statement over the blocks of a series with times in [start, end) (end 0: no end). The
 * statement belongs to the file; the caller resets it. day_next steps through the blocks. */
NODISCARD sqlite3_stmt *day_blocks(day *d, const day_series *s, uint64_t start, uint64_t end,
                                   err *e);
NODISCARD bool day_next(day *d, sqlite3_stmt *s, day_block *out, bool *more, err *e);
str day_marks(sqlite3_stmt *s); /* marks of the current row */
/* Sets *out to the data of the current row. Returns false when its checksum is wrong. */
NODISCARD bool day_data(sqlite3_stmt *s, const day_block *b, str *out);
/* Reads an original payload into the arena. */
NODISCARD bool day_payload(day *d, uint64_t row, zipper *z, arena *a, str *out, err *e);

/* Reads the next raw item with a number above `after` into the arena. Sets *why to the reason why
 * it is stored as received, and *more to whether there is one. bytes->p is NULL when it is
 * damaged. */
NODISCARD bool day_raw(day *d, uint64_t after, zipper *z, arena *a, uint64_t *seq, str *bytes,
                       str *why, bool *more, err *e);

/* Decodes the data of the row of a raw item. Returns false when it is damaged. */
NODISCARD bool day_take_raw(str data, zipper *z, arena *a, str *bytes, str *why);

/* Passes the keys of at most *room profiles to `know`, newest compactions first, and decrements
 * *room for each. */
NODISCARD bool day_keys(day *d, size_t *room, bool (*know)(void *ctx, content_key k), void *ctx,
                        err *e);
