/* Keeps the manifest up to date while the store is open, and compares it with the files when the
 * store is opened. Failures to save it are logged and retried: the manifest only detects damage. */
#include "store/embedded.h"

#include "store/journal_file.h"
#include "base/time.h"
#include <inttypes.h>
#include "base/ban.h"

/* Returns the number up to which items must be readable when the store is opened next. It stays
 * below items that were doubtful at this start until they are compacted: the next start could not
 * tell them from damage. */
static uint64_t durable_for_sure(const embedded *x)
{
    bool doubtful = x->doubtful && x->through < x->own.r.doubt_to;
    return doubtful ? x->own.r.doubt_from : x->durable;
}

/* Locks `listing`. */
static void begin(embedded *x)
{
    pthread_mutex_lock(&x->lock);
    uint64_t durable = durable_for_sure(x);
    pthread_mutex_unlock(&x->lock);
    pthread_mutex_lock(&x->listing);
    if (durable > x->listed.durable) x->listed.durable = durable;
}

/* Requires `listing`. */
static bool save(embedded *x, err *e)
{
    err why = {0};
    if (manifest_save(&x->listed, x->vfs, x->dir, !x->o.no_sync, &why)) return true;
    embedded_log(x, STORE_FAILURE, "store: %s", why.msg);
    if (e) *e = why;
    return false;
}

static void count_damage(embedded *x, uint64_t n)
{
    pthread_mutex_lock(&x->lock);
    x->n.damaged += n;
    pthread_mutex_unlock(&x->lock);
}

/* ---- at the start ---- */

void embedded_load_manifest(embedded *x)
{
    err why = {0};
    if (manifest_load(&x->listed, x->dir, &why)) return;
    if (why.code == ERR_MALFORMED) embedded_set_aside(x, "manifest", &why);
    count_damage(x, 1);
}

/* Logs that the manifest is missing, if a file was written by a kiln that writes a manifest. */
static void say_missing(embedded *x)
{
    for (size_t i = 0; i < x->own.r.n_days; i++) {
        uint64_t id = 0;
        if (!database_number(&x->own.r.days[i]->db, "SELECT value FROM meta WHERE key = 'id'", &id,
                             NULL) ||
            !id)
            continue;
        embedded_log(x, STORE_QUARANTINE,
                     "store: the manifest is missing: it is rebuilt from the files that exist");
        count_damage(x, 1);
        return;
    }
}

/* A file of a newer kiln counts as present. */
static bool is_newer(const embedded *x, day_name name)
{
    database d = {0};
    err why = {0};
    bool ok = database_open(&d, &x->own.r.o, name, &why);
    database_close(&d);
    return !ok && why.code == ERR_UNSUPPORTED;
}

static void on_missing(void *ctx, const manifest_file *gone, uint64_t items, const char *why)
{
    embedded *x = ctx;
    if (!gone) {
        x->listed.lost_items += items;
    } else {
        manifest_file *own = manifest_find(&x->listed, gone->name);
        if (gone->lost || !own || is_newer(x, gone->name)) return;
        own->lost = true;
    }
    embedded_log(x, STORE_QUARANTINE, "store: %s", why);
    count_damage(x, gone ? 1 : items);
}

/* Lists files that are not listed: those of a process that died before it listed them, and those of
 * kiln 0.1.0. The last commit of a process that died may still be lost if the power fails before
 * the next sync; embedded_settle lists that file. */
static void adopt(embedded *x)
{
    for (size_t i = 0; i < x->own.r.n_days; i++) {
        manifest_file f;
        day *d = x->own.r.days[i];
        if (x->unsure && d->through == x->through) continue;
        if (!manifest_facts(&d->db, d->name, &f, NULL)) continue;
        (void)!manifest_put(&x->listed, &f);
        if (f.through > x->listed.through) x->listed.through = f.through;
    }
}

/* Removes the lines of lost files that retention would have removed by now. */
static void expire(embedded *x)
{
    uint64_t now = x->world->wall(x->world->ctx);
    for (size_t i = x->listed.n_files; i-- > 0;) {
        const manifest_file *f = &x->listed.files[i];
        uint64_t end = (uint64_t)(f->name.day + 1) * NS_PER_DAY;
        if (f->lost && x->max_age != UINT64_MAX && end < now && now - end > x->max_age)
            manifest_drop(&x->listed, i);
    }
}

void embedded_compare(embedded *x)
{
    if (!x->listed.there) say_missing(x);
    reader_missing(&x->own.r, on_missing, x);
    adopt(x);
    expire(x);
}

/* ---- while the store is open ---- */

void embedded_list_file(embedded *x, database *d, day_name name)
{
    manifest_file f;
    err why = {0};
    if (!manifest_facts(d, name, &f, &why)) {
        embedded_log(x, STORE_FAILURE, "store: %s", why.msg);
        return;
    }
    begin(x);
    if (f.through > x->listed.through) x->listed.through = f.through;
    if (manifest_put(&x->listed, &f)) (void)!save(x, NULL);
    pthread_mutex_unlock(&x->listing);
}

bool embedded_unlist_file(embedded *x, day_name name, bool lost, err *e)
{
    bool ok = true;
    begin(x);
    manifest_file *f = manifest_find(&x->listed, name);
    if (f && lost)
        f->lost = true;
    else if (f)
        manifest_drop(&x->listed, (size_t)(f - x->listed.files));
    if (f) ok = save(x, e);
    pthread_mutex_unlock(&x->listing);
    return ok;
}

/* A line that stays because the disk is full is harmless: its items are in day files. */
void embedded_unlist_segments(embedded *x, uint64_t through, uint64_t next)
{
    begin(x);
    if (manifest_release(&x->listed, through, next)) (void)!save(x, NULL);
    pthread_mutex_unlock(&x->listing);
}

void embedded_save_manifest(embedded *x)
{
    begin(x);
    (void)!save(x, NULL);
    pthread_mutex_unlock(&x->listing);
}

void embedded_list_durable(embedded *x)
{
    pthread_mutex_lock(&x->listing);
    uint64_t before = x->listed.durable;
    pthread_mutex_unlock(&x->listing);
    begin(x);
    if (x->listed.durable > before) (void)!save(x, NULL);
    pthread_mutex_unlock(&x->listing);
}

void embedded_lose_items(embedded *x, uint64_t n)
{
    begin(x);
    if (n > x->listed.lost_items) { /* they may have been counted when the store was opened */
        x->listed.lost_items = n;
        (void)!save(x, NULL);
    }
    pthread_mutex_unlock(&x->listing);
}

static void on_began(void *ctx, const journal_segment *s)
{
    embedded *x = ctx;
    begin(x);
    if (manifest_put_segment(
            &x->listed,
            &(manifest_segment){.number = s->number, .salt = s->salt, .first_seq = s->first_seq}))
        (void)!save(x, NULL);
    pthread_mutex_unlock(&x->listing);
}

static bool repair(embedded *x, const journal_segment *s)
{
    char path[JOURNAL_PATH], head[JOURNAL_HEADER];
    segment_path(x->dir, s->number, path);
    segment_header(s, head);
    vfile *f = vfile_open(x->vfs, path, VFILE_WRITE, NULL);
    bool ok = f && vfile_write(f, 0, (str){head, sizeof head}, NULL) && vfile_sync(f, NULL);
    vfile_close(f);
    embedded_log(x, STORE_QUARANTINE,
                 "store: the header of raw-%08u.log was damaged and is restored from the manifest",
                 s->number);
    count_damage(x, 1);
    return ok;
}

void embedded_repair_segments(embedded *x)
{
    x->j.began = on_began;
    x->j.ctx = x;
    x->listed.n_segments = 0; /* missing segments were reported */
    for (size_t i = 0; i < x->j.n; i++) {
        journal_segment *s = &x->j.v[i];
        if (s->bad) s->bad = !repair(x, s);
        s->listed = true;
        (void)!manifest_put_segment(
            &x->listed,
            &(manifest_segment){.number = s->number, .salt = s->salt, .first_seq = s->first_seq});
    }
    x->listed.durable = durable_for_sure(x); /* numbers of missing items are used again */
    (void)!save(x, NULL);                    /* a store on a full disk can still be read */
}
