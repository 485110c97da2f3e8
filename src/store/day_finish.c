/* Rewrites a day file that gets no more items, in one transaction: one dictionary delta, one row of
 * stack and list numbers for each series, larger blocks, no keys. Older versions of kiln can still
 * read the file. */
#include "store/day_write.h"

#include <sqlite3.h>
#include "base/ban.h"

enum { WORTH = 6 }; /* a file is rewritten when it may shrink by 1/WORTH */
enum { LEVEL = 9 }; /* zstd level for data that is written once a day */

/* Sets *out to whether the rewritten file would be enough smaller. */
static bool is_worth_it(day_writer *w, bool *out, err *e)
{
    uint64_t done, n = 0, all = 0;
    *out = false;
    if (!database_number(&w->db, "SELECT value FROM meta WHERE key = 'finished'", &done, e))
        return false;
    if (done) return true;
    if (!database_number(&w->db,
                         "SELECT (SELECT total(length(data)) FROM tables) + "
                         "(SELECT total(length(data)) FROM local) + "
                         "(SELECT total(length(data)) FROM keys)",
                         &n, e) ||
        !database_number(&w->db, "SELECT total(length(data)) FROM block", &all, e))
        return false;
    *out = n > (n + all) / WORTH;
    return true;
}

static bool rewrite_tables(day_writer *w, err *e)
{
    zipper best = {.level = LEVEL};
    tables_size zero = {1, 1, 1, 1, 1, 1, 1};
    w->saved = zero;
    bool ok = database_run(&w->db, "DELETE FROM tables", e) && day_writer_save_tables(w, &best, e);
    zipper_free(&best);
    return ok;
}

static bool rewrite_local(day_writer *w, err *e)
{
    if (!database_run(&w->db, "DELETE FROM local", e)) return false;
    for (uint32_t i = 0; i < w->series.n; i++) {
        memset(w->series.v[i].saved, 0, sizeof w->series.v[i].saved);
        if (!day_writer_save_local(w, i, e)) return false;
    }
    return true;
}

static bool finish(day_writer *w, err *e)
{
    if (!day_writer_begin(w, e) || !rewrite_tables(w, e) || !rewrite_local(w, e)) return false;
    for (uint32_t i = 0; i < w->series.n; i++)
        if (!day_writer_merge_rest(w, i, e)) return false;
    if (!database_run(&w->db,
                      "DELETE FROM keys;"
                      "INSERT INTO meta VALUES('finished', 1) ON CONFLICT DO UPDATE SET value = "
                      "value + 1;"
                      "COMMIT;",
                      e))
        return false;
    w->begun = false;
    return database_run(&w->db, "VACUUM", e); /* returns the freed pages to the file system */
}

bool day_writer_finish(day_writer *w, err *e)
{
    bool worth;
    return is_worth_it(w, &worth, e) && (!worth || finish(w, e));
}
