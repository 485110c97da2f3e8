/* catalog.db: a table of numbers. It is a separate file, because retention removes day files and
 * these numbers must stay. */
#include "store/catalog.h"

#include <sqlite3.h>
#include <unistd.h>
#include "base/ban.h"

bool catalog_open(catalog *c, const day_opts *o, err *e)
{
    *c = (catalog){.write = o->write};
    snprintf(c->db.path, sizeof c->db.path, "%s/catalog.db", o->dir);
    if (!o->write && access(c->db.path, R_OK) != 0) return true;
    bool ok = database_open_path(&c->db, o, e);
    if (ok && o->write)
        ok = database_run(&c->db, "PRAGMA journal_mode = WAL;", e) &&
             database_run(&c->db,
                          o->no_sync ? "PRAGMA synchronous = OFF;" : "PRAGMA synchronous = FULL;",
                          e) &&
             database_run(&c->db,
                          "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value INTEGER) "
                          "WITHOUT ROWID;"
                          "INSERT OR IGNORE INTO meta VALUES('format', 1);",
                          e);
    uint64_t made = 1;
    if (ok && !o->write)
        ok = database_number(&c->db, "SELECT count(*) FROM sqlite_master WHERE name = 'meta'",
                             &made, e);
    if (!ok || !made) catalog_close(c); /* an empty file counts as missing */
    return ok;
}

void catalog_close(catalog *c) { database_close(&c->db); }

bool catalog_get(catalog *c, const char *name, uint64_t *out, err *e)
{
    *out = 0;
    if (!c->db.db) return true;
    sqlite3_stmt *s = database_prepare(&c->db, "SELECT value FROM meta WHERE key = ?", e);
    bool row = false;
    if (s) sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    bool ok = s && database_step(&c->db, s, &row, e);
    if (ok && row) *out = (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return ok;
}

bool catalog_set(catalog *c, const char *name, uint64_t v, err *e)
{
    sqlite3_stmt *s = database_prepare(&c->db, "INSERT OR REPLACE INTO meta VALUES(?, ?)", e);
    bool row = false;
    if (s) {
        sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 2, (sqlite3_int64)v);
    }
    bool ok = s && database_step(&c->db, s, &row, e);
    sqlite3_finalize(s);
    return ok;
}
