/* Reads a snapshot of a directory (reader.h). Another process may compact or remove files at the
 * same time; the snapshots of the files and the locked part of the journal together have each item
 * once. */
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <unistd.h>
#include "base/ban.h"

enum { TRIES = 50 };

void reader_init(reader *r, const day_opts *o, size_t memory, const world *w)
{
    *r = (reader){.o = *o, .memory = memory, .world = w};
    r->o.write = false;
}

static void close_days(reader *r, size_t from)
{
    for (size_t i = from; i < r->n_days; i++) day_close(r->days[i]);
    r->n_days = from;
}

void reader_free(reader *r)
{
    close_days(r, 0);
    free(r->days);
    zipper_free(&r->z);
    catalog_close(&r->catalog);
    names_close(&r->names);
    manifest_free(&r->listed);
    journal_hold_free(&r->hold);
    arena_free(&r->block);
    arena_free(&r->raw);
    arena_free(&r->work);
    arena_free(&r->keep);
}

/* ---- files ---- */

static bool insert_day(reader *r, size_t at, day *d, err *e)
{
    if (r->n_days == r->cap_days) {
        size_t cap = r->cap_days ? r->cap_days * 2 : 16;
        day **v = realloc(r->days, cap * sizeof *v);
        if (!v) return err_sys(e, ENOMEM, "no memory for the list of files");
        r->days = v;
        r->cap_days = cap;
    }
    memmove(r->days + at + 1, r->days + at, (r->n_days - at) * sizeof *r->days);
    r->days[at] = d;
    r->n_days++;
    return true;
}

static void remove_day(reader *r, size_t at)
{
    day_close(r->days[at]);
    memmove(r->days + at, r->days + at + 1, (r->n_days - at - 1) * sizeof *r->days);
    r->n_days--;
}

void reader_broken(reader *r, day_name name, const err *why)
{
    r->lost = true;
    if (r->broken && !r->second) r->broken(r->ctx, name, why);
}

/* Raises `through` for a file of a newer kiln: it cannot be read, but its items must not be read
 * from the journal again. */
static void count_newer(reader *r, day_name name)
{
    uint64_t through = database_through(&r->o, name);
    const manifest_file *entry = manifest_find(&r->listed, name);
    if (entry && entry->through > through) through = entry->through;
    if (!through) through = r->listed.through;
    if (through > r->through) r->through = through;
}

/* Checks that the file matches its line of the manifest, once for each state of the file. */
static bool is_as_listed(reader *r, day *d, err *e)
{
    const manifest_file *entry = manifest_find(&r->listed, d->name);
    manifest_file now;
    if (!entry || (d->compared && d->compared == entry->through + 1)) return true;
    if (!manifest_facts(&d->db, d->name, &now, e)) return false;
    if (!manifest_holds(entry, &now,
                        /* retention may have removed a part of it since the line was read */
                        NULL)) {
        if (!manifest_load(&r->listed, r->o.dir, NULL)) return true;
        entry = manifest_find(&r->listed, d->name);
        if (!entry) return true;
        if (!manifest_holds(entry, &now, e)) return false;
    }
    d->compared = entry->through + 1;
    return true;
}

/* Opens and closes files so that r->days matches the directory. */
static bool match_files(reader *r, err *e)
{
    day_names names;
    if (!day_list(r->o.dir, &names, e)) return false;
    bool ok = true;
    size_t at = 0;
    for (size_t i = 0; ok && i < names.n; i++) {
        while (at < r->n_days && day_name_cmp(r->days[at]->name, names.v[i]) < 0) remove_day(r, at);
        if (at < r->n_days && day_name_cmp(r->days[at]->name, names.v[i]) == 0) {
            if (day_is_there(r->days[at])) {
                at++;
                continue;
            }
            remove_day(r, at);
        }
        err why = {0};
        day *d = day_open(&r->o, names.v[i], 0, &why);
        if (d) {
            ok = insert_day(r, at, d, e);
            if (ok)
                at++;
            else
                day_close(d);
        } else if (why.code == ERR_MALFORMED || why.code == ERR_UNSUPPORTED) {
            if (why.code == ERR_UNSUPPORTED) count_newer(r, names.v[i]);
            reader_broken(r, names.v[i], &why);
        } else if (why.sys != ENOENT) {
            if (e) *e = why;
            ok = false;
        }
    }
    close_days(r, ok ? at : 0);
    free(names.v);
    return ok;
}

static bool begin_days(reader *r, err *e)
{
    for (size_t i = 0; i < r->n_days;) {
        err why = {0};
        if (day_begin(r->days[i], &r->z, &why) && is_as_listed(r, r->days[i], &why)) {
            if (r->days[i]->through > r->through) r->through = r->days[i]->through;
            i++;
            continue;
        }
        bool broken = why.code == ERR_MALFORMED;
        if (broken) reader_broken(r, r->days[i]->name, &why);
        remove_day(r, i);
        if (!broken) {
            if (e) *e = why;
            return false;
        }
    }
    return true;
}

/* ---- the journal ---- */

typedef struct going {
    reader *r;
    reader_item *visit;
    void *ctx;
    journal_scan *scan;
} going;

static bool visit_record(void *ctx, uint64_t seq, str bytes, err *e)
{
    going *g = ctx;
    raw_item x = {.seq = seq, .bytes = bytes};
    if (!take_item(bytes, &x.x)) return g->r->n_damaged++, true;
    return g->visit(g->ctx, &x, &g->scan->stop, e);
}

bool reader_items(reader *r, reader_item *visit, void *ctx, err *e)
{
    bool known = r->doubt_to != 0;
    journal_scan s = {.hold = &r->hold,
                      .from = r->through + 1,
                      .to = UINT64_MAX,
                      .doubt_from = known ? r->doubt_from : r->listed.durable,
                      .doubt_to = known ? r->doubt_to : UINT64_MAX};
    going g = {r, visit, ctx, &s};
    r->n_damaged = 0;
    bool ok = journal_read(r->o.vfs, r->o.dir, &s, visit_record, &g, e);
    r->n_damaged += s.n_damaged;
    r->n_doubtful = s.n_doubtful;
    if (ok && !s.stop && s.last < r->listed.durable) r->n_damaged += r->listed.durable - s.last;
    return ok;
}

bool reader_raw(reader *r, day *d, reader_item *visit, void *ctx, uint64_t *damaged, err *e)
{
    raw_item x = {0};
    bool stop = false, more = d->n_raw > 0;
    while (more && !stop) {
        arena_reset(&r->raw);
        if (!day_raw(d, x.seq, &r->z, &r->raw, &x.seq, &x.bytes, &x.why, &more, e)) return false;
        if (!more) break;
        if (!x.bytes.p || !take_item(x.bytes, &x.x))
            ++*damaged;
        else if (!visit(ctx, &x, &stop, e))
            return false;
    }
    return true;
}

bool reader_has_no_writer(const char *dir)
{
    char path[DAY_PATH];
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/lock", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT;
    bool free = fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type == F_UNLCK;
    close(fd);
    return free;
}

/* Returns whether no process compacts, so that a missing record is lost and not just moved. */
static bool has_no_compactor(const reader *r) { return r->alone || reader_has_no_writer(r->o.dir); }

static bool hold_journal(reader *r, bool *again, err *e)
{
    err why = {0};
    r->compacted = r->through;
    bool ok = journal_hold_take(&r->hold, r->o.vfs, r->o.dir, r->through + 1, &why);
    r->gap = ok && r->hold.gap && (r->lost || has_no_compactor(r));
    if (r->gap) r->through = r->hold.first - 1;
    *again = (r->hold.gap && !r->gap) || (!ok && why.code == ERR_MISMATCH);
    if (!ok && !*again && e) *e = why;
    return ok || *again;
}

static bool read_catalog(reader *r, err *e)
{
    err why = {0};
    if ((r->catalog.db.db || catalog_open(&r->catalog, &r->o, &why)) &&
        catalog_get(&r->catalog, "through", &r->through, &why))
        return true;
    catalog_close(&r->catalog);
    if (why.code == ERR_MALFORMED) return true; /* counts as missing; the writer sets it aside */
    if (e) *e = why;
    return false;
}

/* Reads the catalog before the files: items up to its `through` are then in files that exist, or
 * were removed. */
static bool take_files(reader *r, err *e)
{
    err why = {0};
    if (!manifest_load(&r->listed, r->o.dir, &why) && why.code != ERR_MALFORMED) {
        if (e) *e = why;
        return false;
    }
    return read_catalog(r, e) && match_files(r, e) && begin_days(r, e);
}

/* Takes second snapshots. Items that were compacted after the first ones may have left the journal
 * before it was locked. If the files are unchanged now, nothing is missing. */
static bool take_files_again(reader *r, bool *again, err *e)
{
    uint64_t through = r->through;
    for (size_t i = 0; i < r->n_days; i++) day_end(r->days[i]);
    r->second = true;
    bool ok = take_files(r, e);
    r->second = false;
    *again = r->through > through;
    r->through = through;
    return ok;
}

bool reader_begin(reader *r, err *e)
{
    for (int i = 0; i < TRIES; i++) {
        bool again = false;
        r->through = 0;
        r->begun = true;
        r->lost = false;
        bool ok = take_files(r, e) && hold_journal(r, &again, e) &&
                  (again || take_files_again(r, &again, e));
        if (ok && !again) return true;
        reader_end(r);
        if (!ok) return false;
    }
    return err_set(e, ERR_BUSY, "%s: compaction was faster than the reader, %d times", r->o.dir,
                   TRIES);
}

void reader_end(reader *r)
{
    size_t used = 0;
    for (size_t i = r->n_days; i-- > 0;) { /* the newest are used most */
        day_end(r->days[i]);
        used += r->days[i]->a.used;
        if (r->memory && used > r->memory) {
            used -= r->days[i]->a.used;
            remove_day(r, i);
        }
    }
    arena_reset(&r->block);
    arena_reset(&r->raw);
    journal_hold_free(&r->hold);
    r->begun = false;
}

bool reader_name(reader *r, bool wanted, builder *b, err *e)
{
    err why = {0};
    if (!wanted) return true;
    if ((r->names.db.db || names_open(&r->names, &r->o, &why)) && names_apply(&r->names, b, &why))
        return true;
    names_close(&r->names);
    if (why.code == ERR_MALFORMED) { /* without names.db locations stay unnamed */
        if (r->damaged) r->damaged(r->ctx, "names.db");
        return true;
    }
    if (e) *e = why;
    return false;
}
