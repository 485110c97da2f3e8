#include "store/embedded.h"

#include "store/embedded_ahead.h"
#include "store/huge.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "wire/otlp.h"
#include "base/ban.h"

#define DAY_NS (UINT64_C(86400) * NS_PER_S)
#define RETENTION_NS (60 * NS_PER_S)
#define RETENTION_FULL_NS NS_PER_S /* while new data is rejected because the store is full */
enum { PARTS = 8 };                /* a file holds at most this part of max_bytes */
enum { ALONE = 8 };         /* times the memory for an item that does not fit beside others */
enum { MESSAGE = 4 << 20 }; /* bytes of a decoded message that are in huge pages */

/* ---- which file ---- */

static bool is_large(const embedded *x, day_name name)
{
    return x->max_bytes != UINT64_MAX && embedded_file_bytes(x, name) > x->max_bytes / PARTS;
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
    crew *crew;       /* NULL: nobody helps */
    ahead *ahead;     /* NULL: items are decoded in their turn */
    uint64_t n_read;  /* bytes of the journal, so far */
    uint64_t bytes;   /* of what was added */
    uint64_t through; /* committed */
    uint64_t last;    /* added */
    uint64_t committed_bytes, committed_items, n_items;
    uint64_t n_kept;       /* as received */
    uint64_t next_arrival; /* of the first item that is left; 0: not known */
    bool full;
    bool heavy; /* an item needs more memory than there is beside others */
} run;

static void count_kept(run *r)
{
    embedded *x = r->x;
    pthread_mutex_lock(&x->lock);
    x->n.undecodable += r->n_kept;
    pthread_mutex_unlock(&x->lock);
    r->n_kept = 0;
    embedded_count_kept(x);
}

static bool commit(run *r, err *e)
{
    embedded *x = r->x;
    if (!x->w || r->last == r->through) return true;
    embedded_at(x, "compacting");
    x->unsure = true;
    x->unsure_of = x->w->name;
    if (!day_writer_commit(x->w, r->last, e)) return false;
    x->unsure = false;
    embedded_list_file(x, &x->w->db, x->w->name);
    r->through = r->last;
    r->committed_bytes = r->bytes;
    r->committed_items = r->n_items;
    if (r->n_kept) count_kept(r);
    embedded_at(x, "compacted");
    return true;
}

/* A file that is damaged where only its writer looks is set aside, too: nobody might ask for it, and nothing be compacted. */
static bool open_file(embedded *x, day_name name, err *e)
{
    err why = {0};
    x->w = day_writer_open(&x->files, name, x->o.memory / 4, &why);
    if (!x->w && why.code == ERR_MALFORMED) {
        embedded_quarantine(x, name, &why);
        why = (err){0};
        x->w = day_writer_open(&x->files, name, x->o.memory / 4, &why);
    }
    if (!x->w && why.code == ERR_UNSUPPORTED) { /* a newer kiln wrote this part: leave it alone */
        name.part++;
        return open_file(x, name, e);
    }
    if (!x->w && e) *e = why;
    return x->w != NULL;
}

/* The file before this one, which is new, gets no more: it may take less room.  What fails stays as it was. */
static void finish_before(embedded *x, day_name name)
{
    day_names names;
    err why = {0};
    if (!day_list(x->dir, &names, &why)) return;
    size_t n = 0;
    while (n < names.n && day_name_cmp(names.v[n], name) < 0) n++;
    bool is_new = n == names.n;
    day_writer *w =
        n && is_new ? day_writer_open(&x->files, names.v[n - 1], x->o.memory / 4, &why) : NULL;
    if ((w && !day_writer_finish(w, &why)) || why.code)
        embedded_say(x, STORE_TROUBLE, "store: a file stays larger than it could be: %s", why.msg);
    day_writer_close(w);
    free(names.v);
}

/* The writer of the file that the item belongs to. */
static bool find_file(run *r, const item *i, err *e)
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
    finish_before(x, name);
    if (!open_file(x, name, e)) return false;
    if (full || !day_writer_full(x->w)) return true;
    day_writer_close(x->w); /* found full */
    name.part++;
    return open_file(x, name, e);
}

static bool choose_file(run *r, const item *i, err *e)
{
    if (!find_file(r, i, e)) return false;
    r->x->w->crew = r->crew;
    return true;
}

/* ---- an item ---- */

static bool add_model(run *r, const ahead_item *a, const item *i, const model *m,
                      const known_hashes *h, err *e)
{
    if (m->profiles.n != i->n_profiles)
        return err_set(e, ERR_MALFORMED, "it says %zu profiles and has %zu", i->n_profiles,
                       m->profiles.n);
    if (!h) return err_set(e, ERR_LIMIT, "its dictionary does not fit the memory budget");
    return day_writer_add(r->x->w, a->seq, i, m, h, e);
}

/* Columns of what the item says.  ERR_LIMIT: it does not fit the memory. */
static bool add_columns(run *r, const ahead_item *a, const item *i, size_t budget, err *e)
{
    embedded *x = r->x;
    model m;
    if (a->m) return add_model(r, a, i, a->m, a->hashes, e);
    arena_reset(&x->item);
    if (!x->item.spare) huge_reserve(&x->item, MESSAGE);
    x->item.budget = budget;
    if (!otlp_decode(i->bytes.p, i->bytes.n, &(otlp_decode_opts){.layout = i->layout}, &x->item, &m,
                     e))
        return false;
    return add_model(r, a, i, &m, known_hash(x->files.seed, &m, &x->item), e);
}

/* What columns cannot be made of stays what it was: questions look at it, too. */
static bool add_as_received(run *r, uint64_t seq, const item *i, str bytes, const err *why, err *e)
{
    embedded *x = r->x;
    char text[400];
    embedded_say(x, STORE_TROUBLE, "store: item %" PRIu64 " is kept as received: %s", seq,
                 err_text(why, text, sizeof text));
    r->n_kept++;
    return day_writer_add_raw(x->w, seq, i, bytes, str_of(text), e);
}

static bool add_item(run *r, const ahead_item *a, const item *i, err *e)
{
    embedded *x = r->x;
    bool alone = a->seq == x->heavy;
    err why = {0};
    if (alone && x->heavy_why.code)
        return add_as_received(r, a->seq, i, a->bytes, &x->heavy_why, e);
    if (add_columns(r, a, i, alone ? ALONE * x->o.memory : x->o.memory, &why)) return true;
    if (why.code == ERR_MALFORMED) return add_as_received(r, a->seq, i, a->bytes, &why, e);
    if (why.code == ERR_LIMIT) { /* first alone, then not at all */
        x->heavy = a->seq;
        x->heavy_why = alone ? why : (err){0};
        r->heavy = true;
    }
    if (e) *e = why;
    return false;
}

static bool compact_item(void *who, const ahead_item *a, err *e)
{
    run *r = who;
    embedded *x = r->x;
    item i;
    bool whole = take_item(a->bytes, &i);
    if (!whole) i = (item){.received = x->world->wall(x->world->who)};
    if (!choose_file(r, &i, e)) return false;
    static const err damaged = {.code = ERR_MALFORMED, .msg = "its facts cannot be read"};
    if (!(whole ? add_item(r, a, &i, e) : add_as_received(r, a->seq, &i, a->bytes, &damaged, e)))
        return false;
    r->last = a->seq;
    r->bytes += a->bytes.n + JOURNAL_RECORD;
    r->n_items++;
    return true;
}

static bool on_record(void *who, uint64_t seq, str bytes, err *e)
{
    run *r = who;
    const embedded *x = r->x;
    bool more = r->last != r->through;
    if (r->n_read >= x->max_raw || (more && seq == x->heavy)) { /* the rest is for the next run */
        item left;
        if (take_item(bytes, &left)) r->next_arrival = left.received;
        return r->scan->stop = r->full = true, true;
    }
    r->n_read += bytes.n + JOURNAL_RECORD;
    if (r->ahead) return ahead_put(r->ahead, seq, bytes, e);
    return compact_item(r, &(ahead_item){.seq = seq, .bytes = bytes}, e);
}

/* What was compacted is no longer raw. */
static void settle_run(embedded *x, const run *r)
{
    pthread_mutex_lock(&x->lock);
    x->through = r->through;
    x->raw_done += r->committed_bytes;
    x->raw_bytes -= r->committed_bytes < x->raw_bytes ? r->committed_bytes : x->raw_bytes;
    x->raw_items -= r->committed_items < x->raw_items ? r->committed_items : x->raw_items;
    if (x->through >= x->durable)
        x->oldest_raw = 0;
    else if (r->next_arrival)
        x->oldest_raw = r->next_arrival;
    if (x->through >= x->durable) x->raw_bytes = x->raw_items = 0;
    x->n.compactions++;
    pthread_mutex_unlock(&x->lock);
    if (x->heavy <= r->through) x->heavy = 0;
    embedded_unlist_segments(x, r->through, UINT64_MAX);
    pthread_mutex_lock(&x->writing);
    journal_release(&x->j, follow_floor(x, r->through));
    x->journal_bytes = journal_disk_bytes(&x->j);
    pthread_mutex_unlock(&x->writing);
}

static void end_file(embedded *x)
{
    day_writer_close(x->w);
    x->w = NULL;
}

/* All that there is up to `durable`. */
static bool run_through(run *r, uint64_t durable, err *e)
{
    embedded *x = r->x;
    uint64_t now = x->world->wall(x->world->who);
    if (!embedded_settle(x, &r->through, e)) return false;
    r->last = r->through;
    journal_scan s = {.from = r->through + 1,
                      .to = durable,
                      .once = true,
                      .doubt_from = x->r.doubt_from,
                      .doubt_to = x->r.doubt_to};
    r->scan = &s;
    if (!journal_read(x->vfs, x->dir, &s, on_record, r, e) ||
        (r->ahead && !ahead_drain(r->ahead, e)))
        return false;
    if (!r->full && s.last < durable) { /* lost to damage: said, and not waited for */
        if (!x->w && !choose_file(r, &(item){.received = now}, e)) return false;
        r->last = durable;
    }
    if (s.n_damaged) {
        embedded_say(x, STORE_TROUBLE, "store: %" PRIu64 " items of the journal are damaged",
                     s.n_damaged);
        pthread_mutex_lock(&x->lock);
        x->n.damaged += s.n_damaged;
        pthread_mutex_unlock(&x->lock);
        embedded_lose_items(x, s.n_damaged);
    }
    if (!r->full) r->next_arrival = now; /* whatever is left came after this run began */
    return commit(r, e);
}

/* Threads that compact: one, unless there is more to do than a run takes.  A heavy item is taken without any beside it. */
static unsigned n_threads(const embedded *x, uint64_t raw_bytes)
{
    unsigned n = x->o.threads ? x->o.threads : x->o.no_threads ? 1 : STORE_ALL_CORES;
    if (x->heavy || raw_bytes <= x->max_raw) return 1;
    long cores = n == STORE_ALL_CORES ? sysconf(_SC_NPROCESSORS_ONLN) : (long)n;
    return cores < 1 ? 1 : (unsigned)cores;
}

/* run_through, with helpers where they are worth it. */
static bool run_together(run *r, uint64_t durable, uint64_t raw_bytes, err *e)
{
    embedded *x = r->x;
    r->crew = crew_open(n_threads(x, raw_bytes) - 1);
    if (r->crew) r->ahead = ahead_open(r->crew, x->o.memory / 4, x->files.seed, compact_item, r);
    bool ok = run_through(r, durable, e);
    ahead_close(r->ahead);
    if (x->w) x->w->crew = NULL;
    if (r->crew) crew_close(r->crew);
    return ok;
}

bool embedded_run(embedded *x, bool force, bool *done, err *e)
{
    pthread_mutex_lock(&x->lock);
    uint64_t now = x->world->wall(x->world->who), durable = x->durable, raw_bytes = x->raw_bytes;
    bool due = x->raw_items && (force || x->raw_bytes >= x->max_raw ||
                                (now > x->oldest_raw && now - x->oldest_raw > x->o.max_raw_age));
    run r = {.x = x, .through = x->through, .last = x->through};
    pthread_mutex_unlock(&x->lock);
    *done = !due;
    if (!due) return true;
    err why = {0};
    bool ok = run_together(&r, durable, raw_bytes, &why);
    if (!ok) { /* what was begun is forgotten; the journal has it all */
        end_file(x);
        ok = r.heavy; /* the next run goes on in another way */
        pthread_mutex_lock(&x->lock);
        x->n.compaction_failed += !ok;
        pthread_mutex_unlock(&x->lock);
        if (!ok && e) *e = why;
    } else if (x->w && (x->heavy || is_large(x, x->w->name))) {
        end_file(x); /* its memory is wanted, or it is large enough */
    }
    if (r.through > x->through) settle_run(x, &r);
    return ok;
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

void embedded_probe(embedded *x)
{
    err why = {0};
    if (disk_takes(x, &why)) return;
    x->broken = why;
    x->broken_until = world_now(x->world) + RETRY_NS;
    embedded_say(x, STORE_TROUBLE, "store: new data is refused: %s", why.msg);
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
        ok = embedded_retain(x, e);
        x->next_retention = now + (x->full_of_young ? RETENTION_FULL_NS : RETENTION_NS);
    }
    pthread_mutex_unlock(&x->work);
    embedded_end_rejection(x);
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
        bool due = x->raw_bytes >= x->max_raw && !x->broken_until;
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
