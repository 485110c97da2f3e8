#include "store/embedded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "wire/otlp.h"
#include "base/ban.h"

#define DAY_NS (UINT64_C(86400) * NS_PER_S)
#define RETENTION_NS (60 * NS_PER_S)
enum { PARTS = 8 }; /* a file holds at most this part of max_bytes */

/* ---- which file ---- */

static uint64_t file_bytes_of(const embedded *x, day_name name)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char text[DAY_NAME], path[DAY_PATH];
    uint64_t n = 0;
    day_name_text(name, text);
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        struct stat st;
        snprintf(path, sizeof path, "%s/%s%s", x->dir, text, tails[i]);
        if (stat(path, &st) == 0) n += (uint64_t)st.st_size;
    }
    return n;
}

static bool is_large(const embedded *x, day_name name)
{
    return x->max_bytes != UINT64_MAX && file_bytes_of(x, name) > x->max_bytes / PARTS;
}

/* The part of the day that is written: the last one, or a new one when that is full. */
static bool part_of(embedded *x, int64_t day_number, day_name *out, err *e)
{
    day_names names;
    if (!day_list(x->dir, &names, e)) return false;
    *out = (day_name){.day = day_number};
    bool found = false;
    for (size_t i = 0; i < names.n; i++)
        if (names.v[i].day == day_number) *out = names.v[i], found = true;
    free(names.v);
    if (found && is_large(x, *out)) out->part++;
    return true;
}

/* ---- a run ---- */

typedef struct run {
    embedded *x;
    journal_scan *scan;
    uint64_t bytes;   /* of the journal, so far */
    uint64_t through; /* committed */
    uint64_t last;    /* added */
    uint64_t committed_bytes, committed_items, n_items;
    bool full;
} run;

static bool commit(run *r, err *e)
{
    embedded *x = r->x;
    if (!x->w || r->last == r->through) return true;
    embedded_at(x, "compacting");
    if (!day_writer_commit(x->w, r->last, e)) return false;
    r->through = r->last;
    r->committed_bytes = r->bytes;
    r->committed_items = r->n_items;
    embedded_at(x, "compacted");
    return true;
}

/* A commit that failed may have reached the disk all the same: what the file says was done was done. */
static bool take_up(run *r, err *e)
{
    uint64_t through;
    if (!database_number(&r->x->w->db, "SELECT value FROM meta WHERE key = 'through'", &through, e))
        return false;
    if (through > r->through) r->through = through;
    if (through > r->last) r->last = through;
    return true;
}

/* The writer of the file that the item belongs to. */
static bool choose_file(run *r, const item *i, err *e)
{
    embedded *x = r->x;
    int64_t day_number = (int64_t)(i->received / DAY_NS);
    if (x->w && x->w->name.day == day_number && !day_writer_full(x->w)) return true;
    if (!commit(r, e)) return false;
    bool full = x->w && x->w->name.day == day_number;
    day_name name = full ? x->w->name : (day_name){0};
    day_writer_close(x->w);
    x->w = NULL;
    if (full)
        name.part++;
    else if (!part_of(x, day_number, &name, e))
        return false;
    x->w = day_writer_open(&x->files, name, x->o.memory / 4, e);
    if (x->w && !full && day_writer_full(x->w)) { /* found full */
        day_writer_close(x->w);
        name.part++;
        x->w = day_writer_open(&x->files, name, x->o.memory / 4, e);
    }
    return x->w && take_up(r, e);
}

static bool compact_item(void *who, uint64_t seq, str bytes, err *e)
{
    run *r = who;
    embedded *x = r->x;
    item i;
    model m;
    if (r->bytes >= x->o.max_raw) /* the rest is for the next run */
        return r->scan->stop = r->full = true, true;
    bool whole = take_item(bytes, &i);
    if (!whole) i = (item){.received = x->world->wall(x->world->who)};
    if (!choose_file(r, &i, e)) return false;
    if (seq <= r->through) return true;
    arena_reset(&x->item);
    bool readable = whole &&
                    otlp_decode(i.bytes.p, i.bytes.n, &(otlp_decode_opts){.layout = i.layout},
                                &x->item, &m, NULL) &&
                    m.profiles.n == i.n_profiles;
    if (readable) {
        if (!day_writer_add(x->w, seq, &i, &m, e)) return false;
    } else {
        pthread_mutex_lock(&x->lock);
        x->n.undecodable++;
        pthread_mutex_unlock(&x->lock);
        embedded_say(x, STORE_TROUBLE,
                     "store: item %" PRIu64 " cannot be read and is kept as it is", seq);
        if (!day_writer_add_raw(x->w, seq, bytes, e)) return false;
    }
    r->last = seq;
    r->bytes += bytes.n + JOURNAL_RECORD;
    r->n_items++;
    return true;
}

/* What was compacted is no longer raw. */
static void settle_run(embedded *x, const run *r)
{
    pthread_mutex_lock(&x->lock);
    x->through = r->through;
    x->raw_bytes -= r->committed_bytes < x->raw_bytes ? r->committed_bytes : x->raw_bytes;
    x->raw_items -= r->committed_items < x->raw_items ? r->committed_items : x->raw_items;
    x->oldest_raw = x->through >= x->durable ? 0 : x->world->wall(x->world->who);
    if (x->through >= x->durable) x->raw_bytes = x->raw_items = 0;
    x->n.compactions++;
    pthread_mutex_unlock(&x->lock);
    pthread_mutex_lock(&x->writing);
    journal_release(&x->j, r->through);
    pthread_mutex_unlock(&x->writing);
}

bool embedded_run(embedded *x, bool force, bool *done, err *e)
{
    pthread_mutex_lock(&x->lock);
    uint64_t now = x->world->wall(x->world->who), durable = x->durable;
    bool due = x->raw_items && (force || x->raw_bytes >= x->o.max_raw ||
                                (now > x->oldest_raw && now - x->oldest_raw > x->o.max_raw_age));
    run r = {.x = x, .through = x->through, .last = x->through};
    pthread_mutex_unlock(&x->lock);
    *done = !due;
    if (!due) return true;
    journal_scan s = {.from = r.through + 1, .to = durable, .once = true};
    r.scan = &s;
    bool ok = journal_read(x->vfs, x->dir, &s, compact_item, &r, e);
    if (ok && !r.full && s.last < durable) { /* lost to damage: said, and not waited for */
        ok = x->w || choose_file(&r, &(item){.received = now}, e);
        r.last = durable;
    }
    if (ok && s.n_damaged) {
        embedded_say(x, STORE_TROUBLE, "store: %" PRIu64 " items of the journal are damaged",
                     s.n_damaged);
        pthread_mutex_lock(&x->lock);
        x->n.damaged += s.n_damaged;
        pthread_mutex_unlock(&x->lock);
    }
    ok = ok && commit(&r, e);
    if (!ok) { /* what was begun is forgotten; the journal has it all */
        day_writer_close(x->w);
        x->w = NULL;
        pthread_mutex_lock(&x->lock);
        x->n.compaction_failed++;
        pthread_mutex_unlock(&x->lock);
    } else if (x->w && is_large(x, x->w->name)) {
        day_writer_close(x->w);
        x->w = NULL;
    }
    if (r.through > x->through) settle_run(x, &r);
    return ok;
}

/* ---- retention ---- */

static void remove_file(embedded *x, day_name name, const char *why)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char text[DAY_NAME], path[DAY_PATH];
    uint64_t samples = 0;
    database d = {0};
    if (x->w && day_name_cmp(x->w->name, name) == 0) {
        day_writer_close(x->w);
        x->w = NULL;
    }
    day_opts o = x->files;
    o.write = false;
    if (database_open(&d, &o, name, NULL))
        (void)!database_number(&d, "SELECT value FROM meta WHERE key = 'samples'", &samples, NULL);
    database_close(&d);
    day_name_text(name, text);
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        snprintf(path, sizeof path, "%s/%s%s", x->dir, text, tails[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            embedded_say(x, STORE_TROUBLE, "store: %s cannot be removed: %s", path,
                         strerror(errno));
    }
    embedded_say(x, STORE_REMOVED, "store: removed %s with %" PRIu64 " samples: %s", text, samples,
                 why);
    pthread_mutex_lock(&x->lock);
    x->n.dropped_files++;
    x->n.dropped_samples += samples;
    pthread_mutex_unlock(&x->lock);
}

bool embedded_retain(embedded *x, err *e)
{
    day_names names;
    uint64_t now = x->world->wall(x->world->who);
    if (!day_list(x->dir, &names, e)) return false;
    /* Not the files of the journal: spare ones do not get smaller when data is removed. */
    pthread_mutex_lock(&x->lock);
    uint64_t total = x->raw_bytes;
    pthread_mutex_unlock(&x->lock);
    bool ok = true;
    for (size_t i = 0; i < names.n; i++) total += file_bytes_of(x, names.v[i]);
    for (size_t i = 0; ok && i < names.n; i++) {
        uint64_t bytes = file_bytes_of(x, names.v[i]),
                 end = (uint64_t)(names.v[i].day + 1) * DAY_NS;
        bool old = x->max_age != UINT64_MAX && end < now && now - end > x->max_age,
             much = x->max_bytes != UINT64_MAX && total > x->max_bytes;
        if (!old && !much) continue;
        ok = catalog_set(&x->catalog, "through", x->through,
                         e); /* before the file that says so is gone */
        if (!ok) break;
        remove_file(x, names.v[i],
                    old ? "older than the retention" : "more bytes than the retention allows");
        total -= bytes;
    }
    free(names.v);
    return ok;
}

/* ---- quarantine ---- */

void embedded_set_aside(embedded *x, const char *name, const err *why)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char from[DAY_PATH], to[DAY_PATH];
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        snprintf(from, sizeof from, "%s/%s%s", x->dir, name, tails[i]);
        snprintf(to, sizeof to, "%s/%s.corrupt%s", x->dir, name, tails[i]);
        if (rename(from, to) != 0 && errno != ENOENT)
            embedded_say(x, STORE_TROUBLE, "store: %s cannot be renamed: %s", from,
                         strerror(errno));
    }
    embedded_say(x, STORE_QUARANTINE, "store: %s is damaged and set aside as %s.corrupt: %s", name,
                 name, why->msg);
    pthread_mutex_lock(&x->lock);
    x->n.quarantined++;
    pthread_mutex_unlock(&x->lock);
}

void embedded_quarantine(embedded *x, day_name name, const err *why)
{
    char text[DAY_NAME];
    day_name_text(name, text);
    if (x->read_only) {
        embedded_say(x, STORE_QUARANTINE, "store: %s is damaged and left out: %s", text, why->msg);
        return;
    }
    if (x->w && day_name_cmp(x->w->name, name) == 0) {
        day_writer_close(x->w);
        x->w = NULL;
    }
    /* Before the file that says so is gone; while we recover it is found out anew.  On a broken disk the next look tries again. */
    if (x->through && !catalog_set(&x->catalog, "through", x->through, NULL)) return;
    embedded_set_aside(x, text, why);
}

/* ---- a broken disk ---- */

/* What a new segment of the journal needs: room, a write, a sync. */
static bool disk_takes(const embedded *x, err *e)
{
    char path[DAY_PATH];
    static const char one[] = "x";
    snprintf(path, sizeof path, "%s/try", x->dir);
    vfile *f = vfile_open(x->vfs, path, VFILE_WRITE, e);
    bool ok = f && vfile_reserve(f, JOURNAL_RESERVE, e) && vfile_write(f, 0, (str){one, 1}, e) &&
              vfile_sync(f, e);
    vfile_close(f);
    (void)vfile_remove(x->vfs, path, NULL);
    return ok;
}

/* After a write failed: would one do now? */
static void try_disk(embedded *x)
{
    err why = {0};
    pthread_mutex_lock(&x->lock);
    uint64_t until = x->broken_until;
    pthread_mutex_unlock(&x->lock);
    if (!until || world_now(x->world) < until) return;
    bool ok = disk_takes(x, &why);
    pthread_mutex_lock(&x->lock);
    if (x->broken_until == until) { /* nobody wrote meanwhile, who would know better */
        x->broken_until = ok ? 0 : world_now(x->world) + RETRY_NS;
        if (!ok) x->broken = why;
    }
    pthread_mutex_unlock(&x->lock);
}

/* ---- who calls ---- */

static bool step(embedded *x, bool force, bool *more, err *e)
{
    bool done;
    try_disk(x);
    pthread_mutex_lock(&x->work);
    uint64_t now = world_now(x->world);
    bool ok = embedded_run(x, force, &done, e);
    if (ok && (!done || force || now >= x->next_retention)) {
        x->next_retention = now + RETENTION_NS;
        ok = embedded_retain(x, e);
    }
    pthread_mutex_unlock(&x->work);
    *more = ok && !done;
    return ok;
}

bool embedded_work(store *s, bool *more, err *e)
{
    embedded *x = (embedded *)s;
    *more = false;
    return x->read_only || step(x, false, more, e);
}

bool embedded_compact(store *s, err *e)
{
    embedded *x = (embedded *)s;
    if (x->read_only) return err_set(e, ERR_USAGE, "%s is open for reading", x->dir);
    bool more = true, ok = embedded_commit(s, e);
    while (ok && more) ok = step(x, true, &more, e);
    return ok;
}

void *embedded_compactor(void *who)
{
    embedded *x = who;
    pthread_mutex_lock(&x->lock);
    while (!x->closing) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec += 1;
        bool due = x->raw_bytes >= x->o.max_raw && !x->broken_until;
        if (!due) pthread_cond_timedwait(&x->worked, &x->lock, &t);
        if (x->closing) break;
        pthread_mutex_unlock(&x->lock);
        err e = {0};
        bool more, ok = step(x, false, &more, &e);
        if (!ok) embedded_say(x, STORE_TROUBLE, "store: compaction will be tried again: %s", e.msg);
        pthread_mutex_lock(&x->lock);
        if (!ok && !x->closing) { /* not in a hurry */
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_sec += 1;
            pthread_cond_timedwait(&x->worked, &x->lock, &t);
        }
    }
    pthread_mutex_unlock(&x->lock);
    return NULL;
}
