/* names.db: stores and looks up the names of locations by build id and file address. The file is
 * independent of the others of the store, so that any process may add names. */
#include "store/names.h"

#include <sqlite3.h>
#include <unistd.h>
#include "base/ban.h"

enum { SEAL_NAMES = 8, NAMES_LINES = 1024 };

bool names_open(names_db *n, const day_opts *o, err *e)
{
    *n = (names_db){0};
    snprintf(n->db.path, sizeof n->db.path, "%s/names.db", o->dir);
    if (!o->write && access(n->db.path, R_OK) != 0) return true;
    bool ok = database_open_path(&n->db, o, e);
    if (ok && o->write)
        ok = database_run(&n->db, "PRAGMA journal_mode = WAL;", e) &&
             database_run(&n->db,
                          o->no_sync ? "PRAGMA synchronous = OFF;" : "PRAGMA synchronous = FULL;",
                          e) &&
             database_run(&n->db,
                          "CREATE TABLE IF NOT EXISTS name(build TEXT, address INTEGER, data BLOB, "
                          "PRIMARY KEY(build, address)) WITHOUT ROWID;",
                          e);
    uint64_t made = 1;
    if (ok && !o->write)
        ok = database_number(&n->db, "SELECT count(*) FROM sqlite_master WHERE name = 'name'",
                             &made, e);
    if (!ok || !made) names_close(n);
    return ok;
}

void names_close(names_db *n)
{
    sqlite3_finalize(n->find);
    n->find = NULL;
    database_close(&n->db);
}

/* ---- keys ---- */

/* Returns the build id of a mapping, of any kind; empty when it has none. */
static str build_id_of(const dict *d, const mapping *m)
{
    for (uint32_t i = 0; i < m->attrs.n; i++) {
        const attribute *t = &d->attributes.v[d->attr_refs.v[m->attrs.at + i]];
        if (t->value.kind == ANY_STRING &&
            str_starts(d->strings.v[t->key], STR("process.executable.build_id.")))
            return any_str(&t->value);
    }
    return (str){0};
}

/* Returns the address in the file, because processes map it at different addresses. */
static uint64_t file_address(const mapping *m, uint64_t address)
{
    bool inside = address >= m->memory_start && address < m->memory_limit;
    return inside ? address - m->memory_start + m->file_offset : address;
}

static bool is_known_place(const dict *d, const location *l, str *build)
{
    *build = build_id_of(d, &d->mappings.v[l->mapping]);
    return build->n && l->address;
}

static void bind_place(sqlite3_stmt *s, const dict *d, const location *l, str build)
{
    sqlite3_bind_text(s, 1, build.p, (int)build.n, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)file_address(&d->mappings.v[l->mapping], l->address));
}

/* ---- storing ---- */

static void put_lines(buf *b, const dict *d, const location *l)
{
    put_varint(b, l->lines.n);
    for (uint32_t i = 0; i < l->lines.n; i++) {
        const line *x = &d->lines.v[l->lines.at + i];
        const function *f = &d->functions.v[x->function];
        put_str(b, d->strings.v[f->name]);
        put_str(b, d->strings.v[f->system_name]);
        put_str(b, d->strings.v[f->filename]);
        put_signed(b, f->start_line);
        put_signed(b, x->line);
        put_signed(b, x->column);
    }
    seal_bytes(b, SEAL_NAMES);
}

static bool put_location(names_db *n, sqlite3_stmt *s, const dict *d, const location *l, str build,
                         err *e)
{
    bool row;
    buf b = {0};
    put_lines(&b, d, l);
    sqlite3_reset(s);
    bind_place(s, d, l, build);
    sqlite3_bind_blob64(s, 3, b.p, b.n, SQLITE_STATIC);
    bool ok = b.failed ? err_set(e, ERR_MEMORY, "no memory for names")
                       : database_step(&n->db, s, &row, e);
    sqlite3_reset(s);
    buf_free(&b);
    return ok;
}

bool names_put(names_db *n, const model *m, uint64_t *count, err *e)
{
    const dict *d = &m->dict;
    *count = 0;
    sqlite3_stmt *s = database_prepare(&n->db, "INSERT OR REPLACE INTO name VALUES(?, ?, ?)", e);
    bool ok = s && database_run(&n->db, "BEGIN IMMEDIATE", e);
    for (size_t i = 0; ok && i < d->locations.n; i++) {
        str build;
        const location *l = &d->locations.v[i];
        if (!l->lines.n || l->lines.n > NAMES_LINES || !is_known_place(d, l, &build)) continue;
        ok = put_location(n, s, d, l, build, e);
        ++*count;
    }
    sqlite3_finalize(s);
    if (ok) ok = database_run(&n->db, "COMMIT", e);
    if (!ok && n->db.db) sqlite3_exec(n->db.db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

bool names_verify(names_db *n, uint64_t *damaged, err *e)
{
    *damaged = 0;
    if (!n->db.db) return true;
    sqlite3_stmt *s = database_prepare(&n->db, "SELECT data FROM name", e);
    bool ok = s != NULL, row = true;
    while (ok && (ok = database_step(&n->db, s, &row, e)) && row) {
        str data = column_bytes(s, 0);
        *damaged += !unseal_bytes(&data, SEAL_NAMES);
    }
    sqlite3_finalize(s);
    return ok;
}

/* ---- looking up ---- */

static bool take_lines(builder *b, taker *t, span *out)
{
    dict *d = &b->m.dict;
    uint64_t n = take_varint(t);
    if (t->bad || n > NAMES_LINES || !vec_reserve(b->a, &d->lines, n)) return false;
    *out = (span){(uint32_t)d->lines.n, (uint32_t)n};
    for (uint64_t i = 0; i < n; i++) {
        function f = {.name = builder_string(b, take_str(t))};
        f.system_name = builder_string(b, take_str(t));
        f.filename = builder_string(b, take_str(t));
        f.start_line = take_signed(t);
        line x = {.function = builder_function(b, &f)};
        x.line = take_signed(t);
        x.column = take_signed(t);
        d->lines.v[d->lines.n++] = x;
    }
    return !t->bad && !b->failed;
}

bool names_apply(names_db *n, builder *b, err *e)
{
    if (!n->db.db) return true;
    if (!n->find && !(n->find = database_prepare(
                          &n->db, "SELECT data FROM name WHERE build = ? AND address = ?", e)))
        return false;
    if (!builder_index(b)) return err_memory(e);
    dict *d = &b->m.dict;
    for (size_t i = 1; i < d->locations.n; i++) {
        str build;
        bool row = false;
        if (d->locations.v[i].lines.n || !is_known_place(d, &d->locations.v[i], &build)) continue;
        sqlite3_reset(n->find);
        bind_place(n->find, d, &d->locations.v[i], build);
        bool ok = database_step(&n->db, n->find, &row, e);
        str data = row ? column_bytes(n->find, 0) : (str){0};
        if (ok && row && unseal_bytes(&data, SEAL_NAMES)) {
            taker t = taker_of(data);
            ok = take_lines(b, &t, &d->locations.v[i].lines) || err_memory(e);
        }
        sqlite3_reset(n->find);
        if (!ok) return false;
    }
    return true;
}
