/* store/day.h - one file of the store: an SQLite database with what arrived on one day (UTC), or a part of it.
 *
 *   2026-11-15.0.db    day of arrival, part
 *
 * The day is that of arrival, not of the samples: a sender with a wrong clock can neither make files without end nor have its
 * data removed at once, an old recording that is imported stays for the whole retention, a profile is never split, and the
 * files of past days do not change any more.  A part ends when its dictionary or the file gets large, so that memory is
 * bounded and retention by bytes has pieces to remove. */
#pragma once
#include "store/block.h"
#include "store/vfile.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum { DAY_FORMAT = 1, DAY_NAME = 32, DAY_PATH = 4096 };

/* Seeds of the checksums: what a blob is. */
enum { SEAL_TABLES = 1, SEAL_SERIES, SEAL_LOCAL, SEAL_BLOCK, SEAL_PAYLOAD, SEAL_RAW, SEAL_KEYS };

typedef struct day_name {
    int64_t day; /* since 1970 */
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
    uint64_t seed; /* of hash tables: random */
} day_opts;

/* ---- the database ---- */

typedef struct database {
    char path[DAY_PATH];
    sqlite3 *db;
} database;

/* Opens d->path, whatever it holds.  Without o->write it is only read, also where nothing can be written. */
NODISCARD bool database_open_path(database *d, const day_opts *o, err *e);
NODISCARD bool database_open(database *d, const day_opts *o, day_name name, err *e);
void database_close(database *d);
NODISCARD bool database_run(database *d, const char *sql, err *e);
/* NULL: `e` says why.  The caller finalizes it. */
NODISCARD sqlite3_stmt *database_prepare(database *d, const char *sql, err *e);
/* *row: there is one. */
NODISCARD bool database_step(database *d, sqlite3_stmt *s, bool *row, err *e);
bool database_failed(database *d, int rc, err *e); /* always false */
NODISCARD bool database_number(database *d, const char *sql, uint64_t *out,
                               err *e); /* first column of the first row, 0 for none */
/* meta.through of a file of any format; 0: it cannot be read. */
uint64_t database_through(const day_opts *o, day_name name);
str column_bytes(sqlite3_stmt *s, int i);
/* What a commit to it left that failed or was never synced becomes durable, or is gone for good. */
NODISCARD bool database_settle(database *d, err *e);

/* Times in SQLite's signed integers; what lies beyond is far away. */
static inline int64_t time_in(uint64_t t) { return t > INT64_MAX ? INT64_MAX : (int64_t)t; }

/* ---- as readers see it ---- */

typedef struct day_series {
    block_series s;
    uint32_t id; /* row */
} day_series;

typedef struct day {
    day_name name;
    database db;
    uint64_t inode; /* of the file; another one may get its name */
    arena a;        /* tables and series */
    tables t;
    VEC(day_series) series; /* by row */
    hash_index by_id;
    uint64_t tables_row, series_row, local_row; /* the last ones taken */
    uint64_t finished; /* how often its rows were written anew (day_finish.c) */
    uint64_t through;  /* of the snapshot */
    uint64_t n_raw;    /* items that are kept as received */
    bool reading, bad;
    uint64_t compared; /* 1 + through of the line of the manifest that it was compared with */
    sqlite3_stmt *begin, *commit, *ask_through, *ask_ids, *ask_block; /* kept */
    VEC(int64_t) ids;                                                 /* of day_blocks */
    size_t next_id;
} day;

/* NULL: `e` says why.  ERR_MALFORMED: the file is damaged. */
NODISCARD day *day_open(const day_opts *o, day_name name, size_t memory, err *e);
void day_close(day *d);
/* Is it still the file of that name?  It may have been set aside or removed, and another one made. */
bool day_is_there(const day *d);

/* Begins to look at the file as it is now, and takes up what is new in its tables. */
NODISCARD bool day_begin(day *d, zipper *z, err *e);
void day_end(day *d);

typedef struct day_block {
    uint64_t id;
    const day_series *series;
    uint64_t first, last, n_profiles, n_samples, n_observations;
    int64_t total;
} day_block;

/* Blocks of a series with times in [start, end) (end 0: open), as a statement, which is the file's
 * own: the caller resets it.  day_next steps through them. */
NODISCARD sqlite3_stmt *day_blocks(day *d, const day_series *s, uint64_t start, uint64_t end,
                                   err *e);
NODISCARD bool day_next(day *d, sqlite3_stmt *s, day_block *out, bool *more, err *e);
str day_marks(sqlite3_stmt *s); /* of the row at hand */
/* The bytes of the row at hand, checked; false: damaged. */
NODISCARD bool day_data(sqlite3_stmt *s, const day_block *b, str *out);
/* An original payload, in the arena. */
NODISCARD bool day_payload(day *d, uint64_t row, zipper *z, arena *a, str *out, err *e);

/* Items that are kept as received, those above the number `after`; *why: the reason.  Memory is the arena's.  *more: there was
 * one; bytes.p NULL: it is damaged. */
NODISCARD bool day_raw(day *d, uint64_t after, zipper *z, arena *a, uint64_t *seq, str *bytes,
                       str *why, bool *more, err *e);

/* The same of the data of a row.  false: it is damaged. */
NODISCARD bool day_take_raw(str data, zipper *z, arena *a, str *bytes, str *why);

/* Keys of the newest profiles, newest runs first; *room counts down. */
NODISCARD bool day_keys(day *d, size_t *room, bool (*know)(void *who, content_key k), void *who,
                        err *e);
