/* SQLite databases of the store: file names, opening, settings, errors. Opening also handles
 * read-only file systems, and files whose creator died before its first commit. */
#include "store/day.h"

#include "store/owner_only.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

/* ---- names ---- */

void day_name_text(day_name n, char out[DAY_NAME])
{
    time_t t = (time_t)(n.day * 86400);
    struct tm tm = {0};
    gmtime_r(&t, &tm);
    snprintf(out, DAY_NAME, "%04d-%02d-%02d.%" PRIu32 ".db", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, n.part);
}

bool day_name_parse(const char *text, day_name *out)
{
    struct tm tm = {0};
    char again[DAY_NAME];
    if (sscanf(text, "%4d-%2d-%2d.%" SCNu32 ".db", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
               &out->part) != 4)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    out->day = (int64_t)timegm(&tm) / 86400;
    day_name_text(*out, again);
    return strcmp(text, again) == 0;
}

static int by_name(const void *a, const void *b)
{
    return day_name_cmp(*(const day_name *)a, *(const day_name *)b);
}

bool day_list(const char *dir, day_names *out, err *e)
{
    *out = (day_names){0};
    DIR *d = opendir(dir);
    if (!d) return err_sys(e, errno, "%s: cannot be read", dir);
    bool ok = true;
    for (struct dirent *f; ok && (f = readdir(d));) {
        day_name name;
        if (!day_name_parse(f->d_name, &name)) continue;
        if (out->n == out->cap) {
            size_t cap = out->cap ? out->cap * 2 : 16;
            day_name *v = realloc(out->v, cap * sizeof *v);
            if (!v) {
                ok = err_sys(e, ENOMEM, "no memory for the list of files");
                break;
            }
            out->v = v;
            out->cap = cap;
        }
        out->v[out->n++] = name;
    }
    closedir(d);
    if (!ok) free(out->v);
    if (ok && out->n) qsort(out->v, out->n, sizeof *out->v, by_name);
    return ok;
}

/* ---- the database ---- */

bool database_failed(database *d, int rc, err *e)
{
    return sqlite_failed(e, rc, d->db ? sqlite3_errmsg(d->db) : "no memory", d->path);
}

bool database_run(database *d, const char *sql, err *e)
{
    int rc = sqlite3_exec(d->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || database_failed(d, sqlite3_extended_errcode(d->db), e);
}

sqlite3_stmt *database_prepare(database *d, const char *sql, err *e)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) == SQLITE_OK) return s;
    (void)database_failed(d, sqlite3_extended_errcode(d->db), e);
    return NULL;
}

bool database_step(database *d, sqlite3_stmt *s, bool *row, err *e)
{
    int rc = sqlite3_step(s);
    *row = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ||
           database_failed(d, sqlite3_extended_errcode(d->db), e);
}

str column_bytes(sqlite3_stmt *s, int i)
{
    const char *p = sqlite3_column_blob(s, i);
    return (str){p, p ? (size_t)sqlite3_column_bytes(s, i) : 0};
}

bool database_number(database *d, const char *sql, uint64_t *out, err *e)
{
    sqlite3_stmt *s = database_prepare(d, sql, e);
    bool row = false, ok = s && database_step(d, s, &row, e);
    *out = row ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return ok;
}

bool database_settle(database *d, err *e)
{
    /* The statement has to change something, or SQLite writes nothing. */
    return database_run(d,
                        "INSERT INTO meta VALUES('settled', 1)"
                        " ON CONFLICT DO UPDATE SET value = value + 1",
                        e);
}

/* Pages are small, because the unused part of a block's last page is wasted. */
static const char SCHEMA[] =
    "BEGIN;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;"
    "CREATE TABLE tables(id INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE local(id INTEGER PRIMARY KEY, series INTEGER, data BLOB);"
    "CREATE TABLE block(id INTEGER PRIMARY KEY, series INTEGER, first INTEGER, last INTEGER, "
    "n_profiles INTEGER, n_samples INTEGER,"
    " n_observations INTEGER, total INTEGER, marks BLOB, data BLOB);"
    "CREATE INDEX block_series ON block(series, first, last);"
    "CREATE TABLE payload(id INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE keys(id INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE raw(seq INTEGER PRIMARY KEY, data BLOB);"
    "INSERT INTO meta VALUES('format', 1), ('through', 0), ('id', random() & 0x7fffffffffffffff);"
    "PRAGMA application_id = 0x4b696c6e;"
    "COMMIT;";

static bool make(database *d, const day_opts *o, err *e)
{
    uint64_t n = 0;
    if (!database_run(d, "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL;", e) ||
        !database_run(d, o->no_sync ? "PRAGMA synchronous = OFF;" : "PRAGMA synchronous = FULL;",
                      e) ||
        !database_run(d, "PRAGMA wal_autocheckpoint = 4096;", e) ||
        !database_number(d, "SELECT count(*) FROM sqlite_master WHERE name = 'meta'", &n, e))
        return false;
    return n || database_run(d, SCHEMA, e);
}

static bool check_format(database *d, err *e)
{
    uint64_t made, format;
    if (!database_number(d, "SELECT count(*) FROM sqlite_master WHERE name = 'meta'", &made, e))
        return false;
    /* The process that created the file died before its first commit. */
    if (!made) return err_sys(e, ENOENT, "%s: is empty", d->path);
    if (!database_number(d, "SELECT value FROM meta WHERE key = 'format'", &format, e))
        return false;
    if (format == DAY_FORMAT) return true;
    return err_set(e, ERR_UNSUPPORTED,
                   "%s: format %" PRIu64 " is newer than this kiln, which supports up to %d",
                   d->path, format, DAY_FORMAT);
}

static int open_as(database *d, int flags, const char *vfs)
{
    sqlite3_close(d->db);
    int rc = sqlite3_open_v2(d->path, &d->db,
                             flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, vfs);
    if (rc != SQLITE_OK) return rc;
    sqlite3_extended_result_codes(d->db, 1);
    sqlite3_busy_timeout(d->db, 10000);
    return rc;
}

/* SQLite reads a database with a write-ahead log through shared memory in a file next to it. Where
 * SQLite cannot create that file, no process can write the database either. Then SQLite needs
 * neither locks nor the file and keeps the index of the log in memory. */
static bool open_unwritable(database *d, const day_opts *o)
{
    return access(o->dir, W_OK) != 0 && strcmp(o->vfs->zName, "unix") == 0 &&
           open_as(d, SQLITE_OPEN_READONLY, "unix-none") == SQLITE_OK &&
           database_run(d, "PRAGMA locking_mode = EXCLUSIVE;", NULL);
}

static bool open_to_read(database *d, const day_opts *o, err *e)
{
    uint64_t n;
    err why = {0};
    int rc = open_as(d, SQLITE_OPEN_READWRITE, o->vfs->zName);
    if (rc != SQLITE_OK)
        rc = open_as(d, SQLITE_OPEN_READONLY, o->vfs->zName); /* no permission to write */
    if (rc != SQLITE_OK) return open_failed(e, rc, d->path);
    static const char probe[] = "SELECT count(*) FROM sqlite_master";
    if (database_number(d, probe, &n, &why)) return true;
    if (why.code == ERR_SYS && open_unwritable(d, o) && database_number(d, probe, &n, &why))
        return true;
    if (e) *e = why;
    return false;
}

bool database_open_path(database *d, const day_opts *o, err *e)
{
    d->db = NULL;
    bool ok;
    if (o->write) {
        owner_only_make(d->path);
        int rc = open_as(d, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, o->vfs->zName);
        ok = rc == SQLITE_OK || open_failed(e, rc, d->path);
    } else {
        ok = open_to_read(d, o, e);
    }
    if (!ok) database_close(d);
    return ok;
}

bool database_open(database *d, const day_opts *o, day_name name, err *e)
{
    char text[DAY_NAME];
    day_name_text(name, text);
    snprintf(d->path, sizeof d->path, "%s/%s", o->dir, text);
    bool ok = database_open_path(d, o, e) &&
              database_run(d,
                           o->write ? "PRAGMA cache_size = -4096;"
                                    : "PRAGMA query_only = 1; PRAGMA cache_size = -4096;",
                           e);
    ok = ok && (!o->write || make(d, o, e)) && check_format(d, e);
    if (!ok) database_close(d);
    return ok;
}

uint64_t database_through(const day_opts *o, day_name name)
{
    char text[DAY_NAME];
    database d = {0};
    uint64_t through = 0;
    day_opts read = *o;
    read.write = false;
    day_name_text(name, text);
    snprintf(d.path, sizeof d.path, "%s/%s", o->dir, text);
    if (!database_open_path(&d, &read, NULL) ||
        !database_number(&d, "SELECT value FROM meta WHERE key = 'through'", &through, NULL))
        through = 0;
    database_close(&d);
    return through;
}

void database_close(database *d)
{
    sqlite3_close(d->db);
    d->db = NULL;
}
