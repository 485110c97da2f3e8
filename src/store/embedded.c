#include "store/embedded.h"

#include "store/answer.h"
#include "store/owner_only.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/ban.h"

void embedded_say(embedded *x, store_said what, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (!x->o.say) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    x->o.say(x->o.who, what, text);
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
    return err_sys(e, errno, "%s: the directory cannot be made", dir);
}

static bool take_lock(embedded *x, err *e)
{
    char path[DAY_PATH];
    snprintf(path, sizeof path, "%s/lock", x->dir);
    x->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (x->lock_fd < 0) return err_sys(e, errno, "%s: nothing can be written here", x->dir);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char pid[24] = "";
    if (fcntl(x->lock_fd, F_OFD_SETLK, &all) == 0) {
        int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid()); /* for whoever finds it taken */
        (void)!(ftruncate(x->lock_fd, 0) == 0 && pwrite(x->lock_fd, pid, (size_t)n, 0) == n);
        return true;
    }
    if (errno != EAGAIN && errno != EACCES) return err_sys(e, errno, "%s: cannot be locked", path);
    ssize_t n = pread(x->lock_fd, pid, sizeof pid - 1, 0);
    long who = n > 0 ? strtol(pid, NULL, 10) : 0;
    char by[40] = "another process";
    if (who > 0) snprintf(by, sizeof by, "process %ld", who);
    return err_set(e, ERR_MISMATCH, "%s: %s writes this store: end it, or take another directory",
                   x->dir, by);
}

enum { DAMAGE_LINES = 100 }; /* logged; all are counted */

static bool know_key(void *who, content_key k) { return keys_add(&((embedded *)who)->keys, k); }

/* A query left it out. */
static void on_damaged(void *who, const char *what)
{
    embedded *x = who;
    pthread_mutex_lock(&x->lock);
    bool first = x->n.damaged++ < DAMAGE_LINES;
    pthread_mutex_unlock(&x->lock);
    if (first) embedded_say(x, STORE_QUARANTINE, "store: damaged and left out: %s", what);
}

static void on_broken(void *who, day_name name, const err *why)
{
    embedded *x = who;
    if (x->read_only) {
        on_damaged(x, why->msg);
        return;
    }
    if (why->code == ERR_UNSUPPORTED) {
        embedded_say(x, STORE_QUARANTINE, "store: a file is left out: %s", why->msg);
        return;
    }
    /* Who compacts now may be writing it; the next look will say so again. */
    if (pthread_mutex_trylock(&x->work) != 0) return;
    embedded_quarantine(x, name, why);
    pthread_mutex_unlock(&x->work);
}

/* An item that waits in the journal: its keys are known, its bytes count. */
static bool on_waiting(void *who, const raw_item *i, bool *stop, err *e)
{
    embedded *x = who;
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

/* Keys of what is stored: the newest, up to the bound.  They came newest first, so the first generation is the young one. */
static bool load_keys(embedded *x, err *e)
{
    size_t room = x->keys.max;
    for (size_t i = x->r.n_days; i-- > 0 && room;)
        if (!day_keys(x->r.days[i], &room, know_key, x, e)) return false;
    keys_turn(&x->keys);
    return true;
}

/* A damaged catalogue says nothing that the other files do not. */
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

/* What an earlier process left: files that can be read, what is in the journal, keys. */
static bool recover(embedded *x, err *e)
{
    embedded_load_manifest(x);
    x->r.alone = true;
    bool begun = reader_begin(&x->r, e);
    x->r.alone = false;
    if (!begun) return false;
    bool ok = !x->r.gap || catalog_set(&x->catalog, "through", x->r.through, e); /* for readers */
    x->through = x->r.through;
    for (size_t i = 0; i < x->r.n_days; i++) {
        const day *d = x->r.days[i];
        x->kept_items += d->n_raw;
        if (!d->through || d->through != x->through) continue;
        x->unsure = true; /* who wrote it may have died before the sync */
        x->unsure_of = d->name;
    }
    embedded_compare(x);
    ok = ok && load_keys(x, e) && reader_items(&x->r, on_waiting, x, e);
    if (x->r.n_damaged > x->n.damaged) {
        embedded_say(x, STORE_TROUBLE, "store: %" PRIu64 " items of the journal are damaged",
                     x->r.n_damaged);
        x->n.damaged = x->r.n_damaged;
        embedded_lose_items(x, x->r.n_damaged);
    }
    if (x->r.n_doubtful)
        embedded_say(x, STORE_TROUBLE,
                     "store: %" PRIu64 " items at the end of the journal cannot be read: a crash "
                     "cut off a write that was not acknowledged, or they are damaged",
                     x->r.n_doubtful);
    x->doubtful = x->r.n_doubtful > 0;
    x->r.doubt_from = x->listed.durable;
    reader_end(&x->r);
    if (!ok || !journal_open(&x->j, x->vfs, x->dir, x->world, x->o.no_sync, x->through, e))
        return false;
    x->durable = x->j.next_seq - 1;
    x->r.doubt_to = x->durable ? x->durable : 1;
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
    if (rc) return x->threads = false, err_sys(e, rc, "no thread for the store");
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
    return err_sys(e, rc, "no thread for the store");
}

static void on_retain(store *s, uint64_t max_age, uint64_t max_bytes)
{
    embedded *x = (embedded *)s;
    x->max_age = max_age ? max_age : STORE_MAX_AGE;
    x->max_bytes = max_bytes ? max_bytes : STORE_MAX_BYTES;
    embedded_set_bounds(x);
}

static void set_defaults(embedded *x, const store_opts *o)
{
    x->o = *o;
    x->world = o->world ? o->world : world_system();
    x->read_only = o->read_only;
    if (!x->o.max_queue) x->o.max_queue = STORE_MAX_QUEUE;
    if (!x->o.memory) x->o.memory = STORE_MEMORY;
    if (!x->o.max_raw) x->o.max_raw = UINT64_C(64) << 20;
    if (!x->o.max_raw_age) x->o.max_raw_age = 600 * NS_PER_S;
    x->min_age = o->min_age ? o->min_age : STORE_MIN_AGE;
    x->lock_fd = -1;
    pthread_mutex_init(&x->listing, NULL);
    x->keys.max = STORE_MAX_KEYS;
    x->keys.seed = x->world->random(x->world->who);
    pthread_mutex_init(&x->lock, NULL);
    pthread_mutex_init(&x->preparing, NULL);
    pthread_mutex_init(&x->writing, NULL);
    pthread_mutex_init(&x->work, NULL);
    pthread_mutex_init(&x->reading, NULL);
    pthread_cond_init(&x->filled, NULL);
    pthread_cond_init(&x->settled, NULL);
    pthread_cond_init(&x->worked, NULL);
    on_retain(&x->base, o->max_age, o->max_bytes);
}

static void embedded_close(store *s);

static store *embedded_open(const char *where, const store_opts *o, err *e)
{
    embedded *x = calloc(1, sizeof *x);
    if (!x) return (void)err_sys(e, ENOMEM, "no memory for a store"), NULL;
    x->base.engine = &engine_embedded;
    set_defaults(x, o);
    struct stat st;
    bool ok = (x->dir = strdup(where)) != NULL || err_sys(e, ENOMEM, "no memory for a store");
    if (ok && (o->read_only || o->must_exist) && (stat(where, &st) != 0 || !S_ISDIR(st.st_mode)))
        ok = err_sys(e, ENOENT, "%s is no directory with a store", where);
    ok = ok && vfs_find(o->vfs, &x->vfs, e);
    ok = ok && (o->read_only || (make_directory(where, e) && take_lock(x, e)));
    if (ok && !o->read_only) owner_only_tighten(where);
    x->files = (day_opts){.vfs = x->vfs,
                          .dir = x->dir,
                          .write = !o->read_only,
                          .no_sync = o->no_sync,
                          .seed = x->world->random(x->world->who)};
    x->scratch.seed = x->item.seed = x->files.seed;
    if (ok) {
        reader_init(&x->r, &x->files, x->o.memory / 2, x->world);
        x->r.broken = on_broken;
        x->r.damaged = on_damaged;
        x->r.who = x;
    }
    ok = ok && (o->read_only || (open_catalog(x, e) && recover(x, e)));
    if (ok && !o->read_only) embedded_probe(x);
    ok = ok && (o->read_only || o->no_threads || start_threads(x, e));
    if (ok) return &x->base;
    embedded_close(&x->base);
    return NULL;
}

/* Removes what is in day files for certain. */
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
    reader_free(&x->r);
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
    pthread_mutex_destroy(&x->reading);
    pthread_cond_destroy(&x->filled);
    pthread_cond_destroy(&x->settled);
    pthread_cond_destroy(&x->worked);
    free(x->dir);
    free(x);
}

/* ---- questions, one after the other ---- */

#define ASKING(s)                                                                                  \
    embedded *x = (embedded *)(s);                                                                 \
    pthread_mutex_lock(&x->reading)

static bool answered(embedded *x, bool ok)
{
    pthread_mutex_unlock(&x->reading);
    return ok;
}

static bool on_read(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                    model *out, store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_read(&x->r, q, o, a, out, answer, e));
}

static bool on_read_sums(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                         model *out, store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_sums(&x->r, q, o, a, out, answer, e));
}

static bool on_read_pieces(store *s, const store_selector *q, const store_read_opts *o, arena *a,
                           store_each *each, void *who, model *shared, store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_pieces(&x->r, q, o, a, each, who, shared, answer, e));
}

static bool on_read_each(store *s, const store_selector *q, store_each *each, void *who,
                         store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_each(&x->r, q, each, who, answer, e));
}

static bool on_series(store *s, const store_selector *q, const store_budget *b, arena *a,
                      store_series_list *out, store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_series(&x->r, q, b, a, out, answer, e));
}

static bool on_types(store *s, const store_selector *q, const store_budget *b, arena *a,
                     store_type_list *out, store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_types(&x->r, q, b, a, out, answer, e));
}

static bool on_labels(store *s, const store_selector *q, const store_budget *b, str key, arena *a,
                      store_label_list *out, store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_labels(&x->r, q, b, key, a, out, answer, e));
}

static bool on_profiles(store *s, const store_selector *q, const store_budget *b, size_t max,
                        arena *a, store_profile_list *out, store_series_list *series,
                        store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_profiles(&x->r, q, b, max, a, out, series, answer, e));
}

static bool on_counts(store *s, const store_selector *q, const store_budget *b, uint64_t step,
                      str by, arena *a, store_buckets *out, store_answer *answer, err *e)
{
    ASKING(s);
    return answered(x, answer_counts(&x->r, q, b, step, by, a, out, answer, e));
}

static bool on_put_names(store *s, const model *m, uint64_t *n, err *e)
{
    embedded *x = (embedded *)s;
    names_db to;
    day_opts o = x->files;
    o.write = true; /* a file of its own, which SQLite guards: it needs no other lock */
    pthread_mutex_lock(&x->work);
    bool ok = names_open(&to, &o, e) && names_put(&to, m, n, e);
    names_close(&to);
    pthread_mutex_unlock(&x->work);
    return ok;
}

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
    bool takes = !x->read_only && !x->broken_until;
    pthread_mutex_unlock(&x->lock);
    return takes;
}

const store_engine engine_embedded = {
    .scheme = "",
    .open = embedded_open,
    .close = embedded_close,
    .retain = on_retain,
    .put = embedded_put,
    .push = embedded_push,
    .takes = on_takes,
    .commit = embedded_commit,
    .work = embedded_work,
    .compact = embedded_compact,
    .read = on_read,
    .read_sums = on_read_sums,
    .read_pieces = on_read_pieces,
    .read_each = on_read_each,
    .list_series = on_series,
    .list_types = on_types,
    .list_labels = on_labels,
    .list_profiles = on_profiles,
    .counts = on_counts,
    .put_names = on_put_names,
    .follow = embedded_follow,
    .unfollow = embedded_unfollow,
    .follow_read = embedded_follow_read,
    .followed = embedded_followed,
    .lag = embedded_lag,
    .counted = on_counted,
    .gauged = embedded_gauged,
    .stats = embedded_stats,
    .backup = embedded_backup,
    .verify = embedded_verify,
};
