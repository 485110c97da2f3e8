/* Compaction: reads items from the journal, adds them to the day file and commits. One run compacts
 * a bounded part of the journal. The compaction thread also tests whether a broken disk works
 * again, and applies retention. */
#include "store/embedded.h"

#include "store/embedded_ahead.h"
#include "store/huge.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "wire/otlp.h"
#include "base/time.h"
#include "base/ban.h"

#define RETENTION_NS (60 * NS_PER_S)
#define RETENTION_FULL_NS NS_PER_S /* while puts are rejected because the store is full */
enum { PARTS = 8 };                /* a file has at most 1/PARTS of max_bytes */
enum { ALONE = 8 };                /* factor of memory for an item that is compacted alone */
enum { MESSAGE = 4 << 20 };        /* bytes of a decoded message in huge pages */

/* ---- which file ---- */

static bool is_large(const embedded *x, day_name name)
{
    return x->max_bytes != UINT64_MAX && embedded_file_bytes(x, name) > x->max_bytes / PARTS;
}

/* Sets *out to the part of the day to write: the last one, or a new one when that is full. */
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
    workers *workers; /* NULL: no helpers */
    ahead *ahead;     /* NULL: items are decoded one by one */
    uint64_t n_read;  /* bytes of the journal so far */
    uint64_t bytes;   /* bytes of the items that were added */
    uint64_t through; /* committed number */
    uint64_t last;    /* number of the last item that was added */
    uint64_t committed_bytes, committed_items, n_items;
    uint64_t n_raw;        /* items stored as received */
    uint64_t next_arrival; /* arrival of the first item that is left; 0: unknown */
    bool full;
    bool heavy; /* an item needs more memory than is left while others are in memory */
} run;

static void count_kept(run *r)
{
    embedded *x = r->x;
    pthread_mutex_lock(&x->lock);
    x->n.undecodable += r->n_raw;
    pthread_mutex_unlock(&x->lock);
    r->n_raw = 0;
    embedded_count_raw(x);
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
    if (r->n_raw) count_kept(r);
    embedded_at(x, "compacted");
    return true;
}

/* Opens a day file for writing. A damaged file is set aside here, too: otherwise compaction would
 * fail until a read finds the damage. */
static bool open_file(embedded *x, day_name name, err *e)
{
    err why = {0};
    x->w = day_writer_open(&x->files, name, x->o.store.memory / 4, &why);
    if (!x->w && why.code == ERR_MALFORMED) {
        embedded_quarantine(x, name, &why);
        why = (err){0};
        x->w = day_writer_open(&x->files, name, x->o.store.memory / 4, &why);
    }
    if (!x->w && why.code == ERR_UNSUPPORTED) { /* a newer kiln wrote this part: use the next one */
        name.part++;
        return open_file(x, name, e);
    }
    if (!x->w && e) *e = why;
    return x->w != NULL;
}

/* Rewrites the previous file, which gets no more items, to save space. If that fails, the file
 * stays as it was. */
static void finish_before(embedded *x, day_name name)
{
    day_names names;
    err why = {0};
    if (!day_list(x->dir, &names, &why)) return;
    size_t n = 0;
    while (n < names.n && day_name_cmp(names.v[n], name) < 0) n++;
    bool is_new = n == names.n;
    day_writer *w = n && is_new
                        ? day_writer_open(&x->files, names.v[n - 1], x->o.store.memory / 4, &why)
                        : NULL;
    if ((w && !day_writer_finish(w, &why)) || why.code)
        embedded_log(x, STORE_FAILURE,
                     "store: a finished file could not be rewritten and stays larger: %s", why.msg);
    day_writer_close(w);
    free(names.v);
}

/* Opens the day file that the item belongs to, unless it is open. */
static bool find_file(run *r, const item *i, err *e)
{
    embedded *x = r->x;
    int64_t day_number = (int64_t)(i->received / NS_PER_DAY);
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
    day_writer_close(x->w); /* the file is full */
    name.part++;
    return open_file(x, name, e);
}

static bool choose_file(run *r, const item *i, err *e)
{
    if (!find_file(r, i, e)) return false;
    r->x->w->workers = r->workers;
    return true;
}

/* ---- an item ---- */

static bool add_model(run *r, const ahead_item *a, const item *i, const model *m,
                      const known_hashes *h, err *e)
{
    if (m->profiles.n != i->n_profiles)
        return err_set(e, ERR_MALFORMED, "it declares %zu profiles and has %zu", i->n_profiles,
                       m->profiles.n);
    if (!h) return err_set(e, ERR_MEMORY, "its dictionary does not fit the memory budget");
    return day_writer_add(r->x->w, a->seq, i, m, h, e);
}

/* Converts the item to columns. ERR_MEMORY: it does not fit the memory. */
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

/* Stores an item that cannot be converted to columns as received. Reads decode it. */
static bool add_as_received(run *r, uint64_t seq, const item *i, str bytes, const err *why, err *e)
{
    embedded *x = r->x;
    char text[400];
    embedded_log(x, STORE_FAILURE, "store: item %" PRIu64 " is stored as received: %s", seq,
                 err_text(why, text, sizeof text));
    r->n_raw++;
    return day_writer_add_raw(x->w, seq, i, bytes, str_of(text), e);
}

static bool add_item(run *r, const ahead_item *a, const item *i, err *e)
{
    embedded *x = r->x;
    bool alone = a->seq == x->heavy;
    err why = {0};
    if (alone && x->heavy_why.code)
        return add_as_received(r, a->seq, i, a->bytes, &x->heavy_why, e);
    if (add_columns(r, a, i, alone ? ALONE * x->o.store.memory : x->o.store.memory, &why))
        return true;
    if (why.code == ERR_MALFORMED) return add_as_received(r, a->seq, i, a->bytes, &why, e);
    if (err_exhausted(&why)) { /* the item is first retried alone, then stored as received */
        x->heavy = a->seq;
        x->heavy_why = alone ? why : (err){0};
        r->heavy = true;
    }
    if (e) *e = why;
    return false;
}

static bool compact_item(void *ctx, const ahead_item *a, err *e)
{
    run *r = ctx;
    embedded *x = r->x;
    item i;
    bool whole = take_item(a->bytes, &i);
    if (!whole) i = (item){.received = x->world->wall(x->world->ctx)};
    if (!choose_file(r, &i, e)) return false;
    static const err damaged = {.code = ERR_MALFORMED, .msg = "its facts cannot be read"};
    if (!(whole ? add_item(r, a, &i, e) : add_as_received(r, a->seq, &i, a->bytes, &damaged, e)))
        return false;
    r->last = a->seq;
    r->bytes += a->bytes.n + JOURNAL_RECORD;
    r->n_items++;
    return true;
}

static bool on_record(void *ctx, uint64_t seq, str bytes, err *e)
{
    run *r = ctx;
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

/* Updates the state of the store after a run: its items no longer wait for compaction. */
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

/* Compacts the items up to `durable`, as far as the run is allowed. */
static bool run_through(run *r, uint64_t durable, err *e)
{
    embedded *x = r->x;
    uint64_t now = x->world->wall(x->world->ctx);
    if (!embedded_settle(x, &r->through, e)) return false;
    r->last = r->through;
    journal_scan s = {.from = r->through + 1,
                      .to = durable,
                      .once = true,
                      .doubt_from = x->own.r.doubt_from,
                      .doubt_to = x->own.r.doubt_to};
    r->scan = &s;
    if (!journal_read(x->vfs, x->dir, &s, on_record, r, e) ||
        (r->ahead && !ahead_drain(r->ahead, e)))
        return false;
    if (!r->full && s.last < durable) { /* the rest is damaged: logged, and not retried */
        if (!x->w && !choose_file(r, &(item){.received = now}, e)) return false;
        r->last = durable;
    }
    if (s.n_damaged) {
        embedded_log(x, STORE_FAILURE, "store: %" PRIu64 " items of the journal are damaged",
                     s.n_damaged);
        pthread_mutex_lock(&x->lock);
        x->n.damaged += s.n_damaged;
        pthread_mutex_unlock(&x->lock);
        embedded_lose_items(x, s.n_damaged);
    }
    if (!r->full) r->next_arrival = now; /* the other items arrived after this run began */
    return commit(r, e);
}

/* Returns the number of threads for compaction: one, unless more waits than one run compacts. A
 * heavy item is compacted with no other item in memory. */
static unsigned n_threads(const embedded *x, uint64_t raw_bytes)
{
    unsigned n = x->o.threads ? x->o.threads : x->o.no_threads ? 1 : EMBEDDED_ALL_CORES;
    if (x->heavy || raw_bytes <= x->max_raw) return 1;
    long cores = n == EMBEDDED_ALL_CORES ? sysconf(_SC_NPROCESSORS_ONLN) : (long)n;
    return cores < 1 ? 1 : (unsigned)cores;
}

/* Calls run_through, with worker threads when they are worth it. */
static bool run_together(run *r, uint64_t durable, uint64_t raw_bytes, err *e)
{
    embedded *x = r->x;
    r->workers = workers_open(n_threads(x, raw_bytes) - 1);
    if (r->workers)
        r->ahead = ahead_open(r->workers, x->o.store.memory / 4, x->files.seed, compact_item, r);
    bool ok = run_through(r, durable, e);
    ahead_close(r->ahead);
    if (x->w) x->w->workers = NULL;
    if (r->workers) workers_close(r->workers);
    return ok;
}

bool embedded_run(embedded *x, bool force, bool *done, err *e)
{
    pthread_mutex_lock(&x->lock);
    uint64_t now = x->world->wall(x->world->ctx), durable = x->durable, raw_bytes = x->raw_bytes;
    bool due =
        x->raw_items && (force || x->raw_bytes >= x->max_raw ||
                         (now > x->oldest_raw && now - x->oldest_raw > x->o.store.compact_age));
    run r = {.x = x, .through = x->through, .last = x->through};
    pthread_mutex_unlock(&x->lock);
    *done = !due;
    if (!due) return true;
    err why = {0};
    bool ok = run_together(&r, durable, raw_bytes, &why);
    if (!ok) { /* discards the run: the journal still has its items */
        end_file(x);
        ok = r.heavy; /* the next run handles the item alone */
        pthread_mutex_lock(&x->lock);
        x->n.compaction_failed += !ok;
        pthread_mutex_unlock(&x->lock);
        if (!ok && e) *e = why;
    } else if (x->w && (x->heavy || is_large(x, x->w->name))) {
        end_file(x); /* memory is needed, or the file is large enough */
    }
    if (r.through > x->through) settle_run(x, &r);
    return ok;
}

/* ---- a broken disk ---- */

/* Tests whether the disk works: reserves space, writes and syncs as a new segment of the journal
 * does. */
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

/* After a failed write: tests whether writing is possible again. */
static void try_disk(embedded *x)
{
    err why = {0};
    pthread_mutex_lock(&x->lock);
    uint64_t until = x->broken_until;
    pthread_mutex_unlock(&x->lock);
    if (!until || world_now(x->world) < until) return;
    bool ok = disk_takes(x, &why);
    pthread_mutex_lock(&x->lock);
    if (x->broken_until == until) { /* no newer write has failed */
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
    embedded_log(x, STORE_FAILURE, "store: new data is refused: %s", why.msg);
}

/* ---- callers ---- */

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
    return step(x, false, more, e);
}

bool embedded_compact(store *s, err *e)
{
    embedded *x = (embedded *)s;
    bool more = true, ok = embedded_commit(s, e);
    while (ok && more) ok = step(x, true, &more, e);
    return ok;
}

void *embedded_compactor(void *ctx)
{
    embedded *x = ctx;
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
        if (!ok)
            embedded_log(x, STORE_FAILURE, "store: compaction failed and will be retried: %s",
                         e.msg);
        pthread_mutex_lock(&x->lock);
        if (!ok && !x->closing) { /* waits before the next try */
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_sec += 1;
            pthread_cond_timedwait(&x->worked, &x->lock, &t);
        }
    }
    pthread_mutex_unlock(&x->lock);
    return NULL;
}
