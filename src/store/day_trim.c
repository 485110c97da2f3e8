/* Removes old data from inside a day file, for retention by age. Blocks with only old data are
 * deleted; blocks that also have newer data are rewritten. SQLite reuses the freed pages; the file
 * does not shrink. */
#include "store/day_write.h"

#include <sqlite3.h>
#include "net/world.h"
#include "base/time.h"
#include "base/ban.h"

typedef struct trimming {
    day_writer *w;
    uint64_t before;
    day_trimmed *out;
    arena list; /* for the list of blocks */
} trimming;

typedef struct listed {
    int64_t id;
    uint32_t series;
} listed;

typedef VEC(listed) listed_blocks;

/* ---- blocks ---- */

static bool list_blocks(trimming *t, listed_blocks *out, err *e)
{
    database *d = &t->w->db;
    sqlite3_stmt *q = database_prepare(d, "SELECT id, series FROM block ORDER BY series, id", e);
    bool ok = q != NULL, row;
    while (ok && (ok = database_step(d, q, &row, e)) && row) {
        uint64_t series = (uint64_t)sqlite3_column_int64(q, 1);
        if (series == 0 || series > t->w->series.n) continue;
        listed *slot = vec_push(&t->list, out);
        if (slot) *slot = (listed){sqlite3_column_int64(q, 0), (uint32_t)series - 1};
        ok = slot || err_set(e, ERR_MEMORY, "no memory for the list of blocks");
    }
    sqlite3_finalize(q);
    return ok;
}

static bool drop_payload(day_writer *w, uint64_t row, err *e)
{
    bool row_left;
    if (!row) return true;
    sqlite3_stmt *s = database_prepare(&w->db, "DELETE FROM payload WHERE id = ?", e);
    if (s) sqlite3_bind_int64(s, 1, (int64_t)row);
    bool ok = s && database_step(&w->db, s, &row_left, e);
    sqlite3_finalize(s);
    return ok;
}

/* Rewrites the block without its old profiles. */
static bool rewrite(trimming *t, const listed *b, const block *x, err *e)
{
    day_writer *w = t->w;
    block_builder to = {0};
    for (size_t i = 0; i < x->m.profiles.n; i++)
        if (x->facts[i].received >= t->before && !day_writer_copy_profile(w, b->series, x, i, &to))
            return err_set(e, ERR_MEMORY, "no memory to write a block again");
    return day_writer_drop_block(w, b->id, e) &&
           (!to.ids.n || day_writer_save_block(w, b->series, &to, b->id, e));
}

/* Sets *young when all later blocks of the series are young. Arrival increases with the number of a
 * block, except for items that arrived at nearly the same time; hence the margin of an hour. */
static bool trim_block(trimming *t, const listed *b, bool *young, err *e)
{
    day_writer *w = t->w;
    block x;
    bool good;
    size_t n_old = 0;
    *young = false;
    arena_reset(&w->item);
    arena_reset(&w->run);
    if (!day_writer_take_block(w, b->series, b->id, BLOCK_ALL, &x, &good, e)) return false;
    if (!good || !x.m.profiles.n) return true; /* a damaged block is removed with the file */
    *young = x.facts[0].received >= t->before + NS_PER_HOUR;
    bool ok = true;
    for (size_t i = 0; ok && i < x.m.profiles.n; i++) {
        if (x.facts[i].received >= t->before) continue;
        n_old++;
        t->out->n_samples += x.m.profiles.v[i].n_samples;
        ok = drop_payload(w, x.payload[i], e);
    }
    t->out->n_profiles += n_old;
    return ok && (!n_old || rewrite(t, b, &x, e));
}

static bool trim_blocks(trimming *t, err *e)
{
    listed_blocks v = {0};
    bool ok = list_blocks(t, &v, e), young = false;
    for (size_t i = 0; ok && i < v.n; i++) {
        if (i && v.v[i].series != v.v[i - 1].series) young = false;
        if (!young) ok = trim_block(t, &v.v[i], &young, e);
    }
    sqlite3_reset(t->w->get_block);
    return ok;
}

/* ---- items stored as received ---- */

static bool is_old(trimming *t, str data)
{
    str bytes, why;
    item i;
    arena_reset(&t->w->item);
    return day_take_raw(data, &t->w->z, &t->w->item, &bytes, &why) && take_item(bytes, &i) &&
           i.received < t->before;
}

static bool trim_raw(trimming *t, err *e)
{
    database *d = &t->w->db;
    sqlite3_stmt *q = database_prepare(d, "SELECT seq, data FROM raw ORDER BY seq", e),
                 *drop = q ? database_prepare(d, "DELETE FROM raw WHERE seq = ?", e) : NULL;
    bool ok = drop != NULL, row, row_left;
    while (ok && (ok = database_step(d, q, &row, e)) && row && is_old(t, column_bytes(q, 1))) {
        sqlite3_reset(drop);
        sqlite3_bind_int64(drop, 1, sqlite3_column_int64(q, 0));
        ok = database_step(d, drop, &row_left, e);
        t->out->n_raw++;
    }
    sqlite3_finalize(drop);
    sqlite3_finalize(q);
    return ok;
}

/* ---- the file ---- */

static bool trim(trimming *t, err *e)
{
    day_writer *w = t->w;
    uint64_t through;
    return database_number(&w->db, "SELECT value FROM meta WHERE key = 'through'", &through, e) &&
           day_writer_begin(w, e) && trim_blocks(t, e) && trim_raw(t, e) &&
           day_writer_count(w, "UPDATE meta SET value = max(value - ?, 0) WHERE key = 'samples'",
                            t->out->n_samples, e) &&
           day_writer_count(w, "UPDATE meta SET value = max(value - ?, 0) WHERE key = 'profiles'",
                            t->out->n_profiles, e) &&
           day_writer_count(w, "INSERT OR REPLACE INTO meta VALUES('arrived_first', ?)", t->before,
                            e) &&
           day_writer_commit(w, through, e);
}

bool day_trim(const day_opts *o, day_name name, size_t memory, uint64_t before, day_trimmed *out,
              err *e)
{
    trimming t = {.w = day_writer_open(o, name, memory, e), .before = before, .out = out};
    *out = (day_trimmed){0};
    if (!t.w) return false;
    bool ok = trim(&t, e);
    arena_free(&t.list);
    day_writer_close(t.w);
    return ok;
}
