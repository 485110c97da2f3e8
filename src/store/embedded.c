/* Opens and closes a store of the embedded engine: takes the lock of the directory, recovers data
 * that an earlier process left, and starts the threads. Also has the engine's table of
 * functions. */
#include "store/embedded.h"

#include "store/owner_only.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/ban.h"

void embedded_log(embedded *x, store_event event, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (!x->o.store.log) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    x->o.store.log(x->o.store.ctx, event, text);
}

/* ---- open ---- */

static bool make_directory(const char *dir, err *e)
{
    char path[DAY_PATH];
    snprintf(path, sizeof path, "%s", dir);
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST) break;
        *p = '/';
    }
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return true;
    return err_sys(e, errno, "%s: cannot create the directory", dir);
}

static bool take_lock(embedded *x, err *e)
{
    char path[DAY_PATH];
    snprintf(path, sizeof path, "%s/lock", x->dir);
    x->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (x->lock_fd < 0) return err_sys(e, errno, "%s: cannot write here", x->dir);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char pid[24] = "";
    if (fcntl(x->lock_fd, F_OFD_SETLK, &all) == 0) {
        /* shown to other processes that find the store locked */
        int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
        (void)!(ftruncate(x->lock_fd, 0) == 0 && pwrite(x->lock_fd, pid, (size_t)n, 0) == n);
        return true;
    }
    if (errno != EAGAIN && errno != EACCES) return err_sys(e, errno, "%s: cannot be locked", path);
    ssize_t n = pread(x->lock_fd, pid, sizeof pid - 1, 0);
    long ctx = n > 0 ? strtol(pid, NULL, 10) : 0;
    char by[40] = "another process";
    if (ctx > 0) snprintf(by, sizeof by, "process %ld", ctx);
    return err_set(e, ERR_MISMATCH,
                   "%s: %s has this store open for writing: end it, or use another directory",
                   x->dir, by);
}

static bool know_key(void *ctx, content_key k) { return keys_add(&((embedded *)ctx)->keys, k); }

/* Adds the keys of an item that waits in the journal, and counts its bytes. */
static bool on_waiting(void *ctx, const raw_item *i, bool *stop, err *e)
{
    embedded *x = ctx;
    (void)stop;
    for (size_t k = 0; k < i->x.n_profiles; k++)
        if (!know_key(x, item_key(&i->x, k)))
            return err_sys(e, ENOMEM, "no memory for the keys of profiles");
    x->raw_bytes += i->bytes.n + JOURNAL_RECORD;
    x->raw_items++;
    if (!x->oldest_raw) x->oldest_raw = i->x.received;
    if (i->x.received > x->newest) x->newest = i->x.received;
    return true;
}

/* Loads the newest keys, up to the maximum. They are loaded newest first, so the first generation
 * becomes the young one. */
static bool load_keys(embedded *x, err *e)
{
    size_t room = x->keys.max;
    for (size_t i = x->own.r.n_days; i-- > 0 && room;)
        if (!day_keys(x->own.r.days[i], &room, know_key, x, e)) return false;
    keys_turn(&x->keys);
    return true;
}

/* A damaged catalog can be replaced: the other files have its data. */
static bool open_catalog(embedded *x, err *e)
{
    err why = {0};
    if (catalog_open(&x->catalog, &x->files, &why)) return true;
    if (why.code == ERR_MALFORMED) {
        embedded_set_aside(x, "catalog.db", &why);
        return catalog_open(&x->catalog, &x->files, e);
    }
    if (e) *e = why;
    return false;
}

/* Recovers the data of an earlier process: readable files, items of the journal, keys. */
static bool recover(embedded *x, err *e)
{
    embedded_load_manifest(x);
    x->own.r.alone = true;
    bool begun = reader_begin(&x->own.r, e);
    x->own.r.alone = false;
    if (!begun) return false;
    bool ok =
        !x->own.r.gap || catalog_set(&x->catalog, "through", x->own.r.through, e); /* for readers */
    x->through = x->own.r.through;
    for (size_t i = 0; i < x->own.r.n_days; i++) {
        const day *d = x->own.r.days[i];
        x->kept_items += d->n_raw;
        if (!d->through || d->through != x->through) continue;
        x->unsure = true; /* its writer may have died before the sync */
        x->unsure_of = d->name;
    }
    embedded_compare(x);
    ok = ok && load_keys(x, e) && reader_items(&x->own.r, on_waiting, x, e);
    if (x->own.r.n_damaged > x->n.damaged) {
        embedded_log(x, STORE_FAILURE, "store: %" PRIu64 " items of the journal are damaged",
                     x->own.r.n_damaged);
        x->n.damaged = x->own.r.n_damaged;
        embedded_lose_items(x, x->own.r.n_damaged);
    }
    if (x->own.r.n_doubtful)
        embedded_log(x, STORE_FAILURE,
                     "store: %" PRIu64 " items at the end of the journal cannot be read: a crash "
                     "cut off a write that was not acknowledged, or they are damaged",
                     x->own.r.n_doubtful);
    x->doubtful = x->own.r.n_doubtful > 0;
    x->own.r.doubt_from = x->listed.durable;
    reader_end(&x->own.r);
    if (!ok || !journal_open(&x->j, x->vfs, x->dir, x->world, x->o.no_sync, x->through, e))
        return false;
    x->durable = x->j.next_seq - 1;
    x->own.r.doubt_to = x->durable ? x->durable : 1;
    follow_load(x);
    embedded_set_bounds(x);
    x->journal_bytes = journal_disk_bytes(&x->j);
    embedded_repair_segments(x);
    return embedded_retain_open(x, e);
}

static bool start_threads(embedded *x, err *e)
{
    x->threads = true;
    int rc = pthread_create(&x->writer, NULL, embedded_writer, x);
    if (rc) return x->threads = false, err_sys(e, rc, "cannot start a thread of the store");
    pthread_setname_np(x->writer, "kiln-write");
    rc = pthread_create(&x->compactor, NULL, embedded_compactor, x);
    if (!rc) {
        pthread_setname_np(x->compactor, "kiln-compact");
        return true;
    }
    pthread_mutex_lock(&x->lock);
    x->closing = true;
    pthread_cond_broadcast(&x->filled);
    pthread_mutex_unlock(&x->lock);
    pthread_join(x->writer, NULL);
    x->threads = false;
    return err_sys(e, rc, "cannot start a thread of the store");
}

static void on_retain(store *s, uint64_t max_age, uint64_t max_bytes)
{
    embedded *x = (embedded *)s;
    x->max_age = max_age ? max_age : STORE_MAX_AGE;
    x->max_bytes = max_bytes ? max_bytes : STORE_MAX_BYTES;
    embedded_set_bounds(x);
}

static void set_defaults(embedded *x, const embedded_opts *o)
{
    x->o = *o;
    store_opts *so = &x->o.store;
    x->world = so->world ? so->world : world_system();
    if (!so->max_queue) so->max_queue = STORE_MAX_QUEUE;
    if (!so->memory) so->memory = STORE_MEMORY;
    if (!so->compact_bytes) so->compact_bytes = UINT64_C(64) << 20;
    if (!so->compact_age) so->compact_age = 600 * NS_PER_S;
    x->min_age = so->min_age ? so->min_age : STORE_MIN_AGE;
    x->lock_fd = -1;
    pthread_mutex_init(&x->listing, NULL);
    x->keys.max = STORE_MAX_KEYS;
    x->keys.seed = x->world->random(x->world->ctx);
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->preparing, NULL);
    pthread_mutex_init(&x->writing, NULL);
    pthread_mutex_init(&x->work, NULL);
    pthread_cond_init(&x->filled, NULL);
    pthread_cond_init(&x->settled, NULL);
    pthread_cond_init(&x->worked, NULL);
    on_retain(&x->base, so->max_age, so->max_bytes);
}

static void embedded_close(store *s);

store *embedded_open(const char *dir, const embedded_opts *o, err *e)
{
    embedded *x = calloc(1, sizeof *x);
    if (!x) return (void)err_sys(e, ENOMEM, "no memory for a store"), NULL;
    x->base.engine = &engine_embedded;
    set_defaults(x, o);
    bool ok = (x->dir = strdup(dir)) != NULL || err_sys(e, ENOMEM, "no memory for a store");
    ok = ok && (!o->store.must_exist || embedded_has_directory(dir, e));
    ok = ok && vfs_find(o->vfs, &x->vfs, e) && make_directory(dir, e) && take_lock(x, e);
    if (ok) owner_only_tighten(dir);
    x->files = (day_opts){.vfs = x->vfs,
                          .dir = x->dir,
                          .write = true,
                          .no_sync = o->no_sync,
                          .seed = x->world->random(x->world->ctx)};
    x->scratch.seed = x->item.seed = x->files.seed;
    embedded_reader_init(&x->own, &x->files,
                         &(store_reader_opts){.memory = x->o.store.memory / 2,
                                              .world = x->world,
                                              .log = o->store.log,
                                              .ctx = o->store.ctx});
    x->own.owner = x;
    ok = ok && open_catalog(x, e) && recover(x, e);
    if (ok) embedded_probe(x);
    ok = ok && (o->no_threads || start_threads(x, e));
    if (ok) return &x->base;
    embedded_close(&x->base);
    return NULL;
}

static store *on_open(const char *where, const store_opts *o, err *e)
{
    return embedded_open(where, &(embedded_opts){.store = *o}, e);
}

/* Closes the journal and removes the segments whose records are certainly in day files. */
static void close_journal(embedded *x)
{
    uint64_t through = x->through;
    embedded_list_durable(x);
    bool sure = embedded_settle(x, &through, NULL);
    if (sure) embedded_unlist_segments(x, through, x->j.next_seq);
    journal_close(&x->j, sure ? follow_floor(x, through) : 0);
}

static void embedded_close(store *s)
{
    embedded *x = (embedded *)s;
    if (x->j.vfs) (void)embedded_commit(s, NULL);
    if (x->threads) {
        pthread_mutex_lock(&x->lock);
        x->closing = true;
        pthread_cond_broadcast(&x->filled);
        pthread_cond_broadcast(&x->worked);
        pthread_mutex_unlock(&x->lock);
        pthread_join(x->writer, NULL);
        pthread_join(x->compactor, NULL);
    }
    day_writer_close(x->w);
    if (x->j.vfs) close_journal(x);
    catalog_close(&x->catalog);
    manifest_free(&x->listed);
    pthread_mutex_destroy(&x->listing);
    embedded_reader_free(&x->own);
    group_free(&x->next);
    group_free(&x->busy);
    keys_free(&x->keys);
    arena_free(&x->scratch);
    arena_free(&x->item);
    buf_free(&x->encoded);
    if (x->lock_fd >= 0) close(x->lock_fd);
    pthread_mutex_destroy(&x->lock);
    pthread_mutex_destroy(&x->preparing);
    pthread_mutex_destroy(&x->writing);
    pthread_mutex_destroy(&x->work);
    pthread_cond_destroy(&x->filled);
    pthread_cond_destroy(&x->settled);
    pthread_cond_destroy(&x->worked);
    free(x->dir);
    free(x);
}

/* ---- the engine ---- */

static store_counters on_counted(const store *s)
{
    embedded *x = (embedded *)(uintptr_t)s;
    pthread_mutex_lock(&x->lock);
    store_counters n = x->n;
    pthread_mutex_unlock(&x->lock);
    return n;
}

static bool on_takes(const store *s)
{
    embedded *x = (embedded *)(uintptr_t)s;
    pthread_mutex_lock(&x->lock);
    bool takes = !x->broken_until;
    pthread_mutex_unlock(&x->lock);
    return takes;
}

const store_engine engine_embedded = {
    .scheme = "",
    .open = on_open,
    .close = embedded_close,
    .retain = on_retain,
    .put = embedded_put,
    .push = embedded_push,
    .takes = on_takes,
    .commit = embedded_commit,
    .compact = embedded_compact,
    .follow = embedded_follow,
    .unfollow = embedded_unfollow,
    .follow_read = embedded_follow_read,
    .followed = embedded_followed,
    .lag = embedded_lag,
    .counted = on_counted,
    .gauged = embedded_gauged,

    .open_reader = embedded_reader_open,
    .add_reader = embedded_reader_add,
    .own_reader = embedded_reader_own,
    .close_reader = embedded_reader_close,
    .damaged = embedded_reader_damaged,
    .read = embedded_read,
    .read_sums = embedded_read_sums,
    .read_pieces = embedded_read_pieces,
    .read_each = embedded_read_each,
    .list_series = embedded_list_series,
    .list_types = embedded_list_types,
    .list_labels = embedded_list_labels,
    .list_profiles = embedded_list_profiles,
    .counts = embedded_counts,
    .put_names = embedded_put_names,
    .stats = embedded_stats,
    .backup = embedded_backup,
    .verify = embedded_verify,
};
