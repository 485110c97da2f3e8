#include "store/embedded.h"

#include "store/journal_file.h"
#include <inttypes.h>
#include "base/ban.h"

/* What the next start has to find.  While items that were doubtful at this start wait for compaction, nothing beyond them: that start
 * could not tell them from damage. */
static uint64_t durable_for_sure(const embedded *x)
{
    bool doubtful = x->doubtful && x->through < x->r.doubt_to;
    return doubtful ? x->r.doubt_from : x->durable;
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

/* Called with `listing`. */
static bool save(embedded *x, err *e)
{
    err why = {0};
    if (manifest_save(&x->listed, x->vfs, x->dir, !x->o.no_sync, &why)) return true;
    embedded_say(x, STORE_TROUBLE, "store: %s", why.msg);
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

/* Without a manifest although a file was written by a kiln that keeps one. */
static void say_missing(embedded *x)
{
    for (size_t i = 0; i < x->r.n_days; i++) {
        uint64_t id = 0;
        if (!database_number(&x->r.days[i]->db, "SELECT value FROM meta WHERE key = 'id'", &id,
                             NULL) ||
            !id)
            continue;
        embedded_say(
            x, STORE_QUARANTINE,
            "store: the manifest is missing: it is made again of the files that are there");
        count_damage(x, 1);
        return;
    }
}

/* It is there for the kiln that wrote it. */
static bool is_newer(const embedded *x, day_name name)
{
    database d = {0};
    err why = {0};
    bool ok = database_open(&d, &x->r.o, name, &why);
    database_close(&d);
    return !ok && why.code == ERR_UNSUPPORTED;
}

static void on_lack(void *who, const manifest_file *gone, uint64_t items, const char *why)
{
    embedded *x = who;
    if (!gone) {
        x->listed.lost_items += items;
    } else {
        manifest_file *own = manifest_find(&x->listed, gone->name);
        if (gone->lost || !own || is_newer(x, gone->name)) return;
        own->lost = true;
    }
    embedded_say(x, STORE_QUARANTINE, "store: %s", why);
    count_damage(x, gone ? 1 : items);
}

/* Takes up what is there: files that a process wrote that died, and those of 0.1.0.  The last commit of a process that died may be
 * lost yet, when the power fails before the next sync: embedded_settle lists that file. */
static void adopt(embedded *x)
{
    for (size_t i = 0; i < x->r.n_days; i++) {
        manifest_file f;
        day *d = x->r.days[i];
        if (x->unsure && d->through == x->through) continue;
        if (!manifest_facts(&d->db, d->name, &f, NULL)) continue;
        (void)!manifest_put(&x->listed, &f);
        if (f.through > x->listed.through) x->listed.through = f.through;
    }
}

#define DAY_NS (UINT64_C(86400) * NS_PER_S)

/* By now retention would have removed them. */
static void expire(embedded *x)
{
    uint64_t now = x->world->wall(x->world->who);
    for (size_t i = x->listed.n_files; i-- > 0;) {
        const manifest_file *f = &x->listed.files[i];
        uint64_t end = (uint64_t)(f->name.day + 1) * DAY_NS;
        if (f->lost && x->max_age != UINT64_MAX && end < now && now - end > x->max_age)
            manifest_drop(&x->listed, i);
    }
}

void embedded_compare(embedded *x)
{
    if (!x->listed.there) say_missing(x);
    reader_lacks(&x->r, on_lack, x);
    adopt(x);
    expire(x);
}

/* ---- as it goes ---- */

void embedded_list_file(embedded *x, database *d, day_name name)
{
    manifest_file f;
    err why = {0};
    if (!manifest_facts(d, name, &f, &why)) {
        embedded_say(x, STORE_TROUBLE, "store: %s", why.msg);
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

/* A line that stays because the disk is full does no harm: what it lists is in day files. */
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
    if (n > x->listed.lost_items) { /* the start may have counted them */
        x->listed.lost_items = n;
        (void)!save(x, NULL);
    }
    pthread_mutex_unlock(&x->listing);
}

static void on_began(void *who, const journal_segment *s)
{
    embedded *x = who;
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
    embedded_say(x, STORE_QUARANTINE,
                 "store: the header of raw-%08u.log was damaged: the manifest has a copy of it",
                 s->number);
    count_damage(x, 1);
    return ok;
}

void embedded_repair_segments(embedded *x)
{
    x->j.began = on_began;
    x->j.who = x;
    x->listed.n_segments = 0; /* those that are gone were reported */
    for (size_t i = 0; i < x->j.n; i++) {
        journal_segment *s = &x->j.v[i];
        if (s->bad) s->bad = !repair(x, s);
        s->listed = true;
        (void)!manifest_put_segment(
            &x->listed,
            &(manifest_segment){.number = s->number, .salt = s->salt, .first_seq = s->first_seq});
    }
    x->listed.durable = durable_for_sure(x); /* numbers of items that are gone are used again */
    (void)!save(x, NULL);                    /* a full disk can be read */
}
