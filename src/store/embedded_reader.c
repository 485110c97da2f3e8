/* Readers of the embedded engine: a directory, opened for reading, and a lock so that reads run one
 * after the other. A store has its own reader, which also recovers the directory when the store is
 * opened and may quarantine files. Other readers only skip damaged data. */
#include "store/embedded.h"

#include "store/result.h"
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include "base/ban.h"

enum { DAMAGE_LINES = 100 }; /* most log lines about damage; all damage is counted */

static void log_line(const embedded_reader *x, const char *event, const char *what)
{
    char text[512];
    if (!x->log) return;
    snprintf(text, sizeof text, "store: %s: %s", event, what);
    x->log(x->ctx, STORE_QUARANTINE, text);
}

static void on_damaged(void *ctx, const char *what)
{
    embedded_reader *x = ctx;
    uint64_t before;
    if (x->owner) {
        pthread_mutex_lock(&x->owner->lock);
        before = x->owner->n.damaged++;
        pthread_mutex_unlock(&x->owner->lock);
    } else {
        before = atomic_fetch_add(&x->n_damaged, 1);
    }
    if (before < DAMAGE_LINES) log_line(x, "damaged and skipped", what);
}

static void on_broken(void *ctx, day_name name, const err *why)
{
    embedded_reader *x = ctx;
    if (!x->owner) {
        on_damaged(x, why->msg);
        return;
    }
    if (why->code == ERR_UNSUPPORTED) {
        log_line(x, "a file is skipped", why->msg);
        return;
    }
    /* Compaction may be writing the file; then the next read reports it again. */
    if (pthread_mutex_trylock(&x->owner->work) != 0) return;
    embedded_quarantine(x->owner, name, why);
    pthread_mutex_unlock(&x->owner->work);
}

/* ---- open, close ---- */

void embedded_reader_init(embedded_reader *x, const day_opts *files, const store_reader_opts *o)
{
    x->base.engine = &engine_embedded;
    pthread_mutex_init(&x->lock, NULL);
    reader_init(&x->r, files, o->memory ? o->memory : STORE_MEMORY / 2,
                o->world ? o->world : world_system());
    x->r.broken = on_broken;
    x->r.damaged = on_damaged;
    x->r.ctx = x;
    x->log = o->log;
    x->ctx = o->ctx;
}

void embedded_reader_free(embedded_reader *x)
{
    reader_free(&x->r);
    pthread_mutex_destroy(&x->lock);
}

static embedded_reader *new_reader(const char *dir, sqlite3_vfs *vfs, const store_reader_opts *o,
                                   err *e)
{
    embedded_reader *x = calloc(1, sizeof *x);
    if (x) x->dir = strdup(dir);
    if (!x || !x->dir) {
        free(x);
        err_sys(e, ENOMEM, "no memory for a reader");
        return NULL;
    }
    const world *w = o->world ? o->world : world_system();
    embedded_reader_init(x, &(day_opts){.vfs = vfs, .dir = x->dir, .seed = w->random(w->ctx)}, o);
    return x;
}

bool embedded_has_directory(const char *dir, err *e)
{
    struct stat st;
    return (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)) ||
           err_sys(e, ENOENT, "%s is not a directory with a store", dir);
}

bool embedded_is_store(const char *dir, err *e)
{
    DIR *d = opendir(dir);
    bool found = false;
    if (!d) return err_sys(e, errno, "cannot open");
    for (const struct dirent *x; !found && (x = readdir(d));) {
        str name = str_of(x->d_name);
        found = str_starts(name, STR("raw-")) || str_ends(name, STR(".db"));
    }
    closedir(d);
    return found || err_set(e, ERR_MALFORMED, "a directory, but not a store of `kiln serve`");
}

store_reader *embedded_open_reader(const char *dir, const embedded_reader_opts *o, err *e)
{
    sqlite3_vfs *vfs;
    if (!embedded_has_directory(dir, e) || !vfs_find(o->vfs, &vfs, e)) return NULL;
    return (store_reader *)new_reader(dir, vfs, &o->reader, e);
}

store_reader *embedded_reader_open(const char *where, const store_reader_opts *o, err *e)
{
    return embedded_open_reader(where, &(embedded_reader_opts){.reader = *o}, e);
}

store_reader *embedded_reader_add(store *s, const store_reader_opts *o, err *e)
{
    const embedded *x = (const embedded *)s;
    store_reader_opts with = *o;
    if (!with.world) with.world = x->world;
    return (store_reader *)new_reader(x->dir, x->vfs, &with, e);
}

store_reader *embedded_reader_own(store *s) { return &((embedded *)s)->own.base; }

void embedded_reader_close(store_reader *r)
{
    embedded_reader *x = (embedded_reader *)r;
    embedded_reader_free(x);
    free(x->dir);
    free(x);
}

uint64_t embedded_reader_damaged(const store_reader *r)
{
    const embedded_reader *x = (const embedded_reader *)r;
    return x->owner ? store_counted(&x->owner->base).damaged : atomic_load(&x->n_damaged);
}

/* ---- reads ---- */

static embedded_reader *lock_reader(store_reader *r)
{
    embedded_reader *x = (embedded_reader *)r;
    pthread_mutex_lock(&x->lock);
    return x;
}

static bool unlocked(embedded_reader *x, bool ok)
{
    pthread_mutex_unlock(&x->lock);
    return ok;
}

bool embedded_read(store_reader *s, const store_selector *q, const store_read_opts *o, arena *a,
                   model *out, store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_read(&x->r, q, o, a, out, result, e));
}

bool embedded_read_sums(store_reader *s, const store_selector *q, const store_read_opts *o,
                        arena *a, model *out, store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_sums(&x->r, q, o, a, out, result, e));
}

bool embedded_read_pieces(store_reader *s, const store_selector *q, const store_read_opts *o,
                          arena *a, store_each *each, void *ctx, model *shared,
                          store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_pieces(&x->r, q, o, a, each, ctx, shared, result, e));
}

bool embedded_read_each(store_reader *s, const store_selector *q, store_each *each, void *ctx,
                        store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_each(&x->r, q, each, ctx, result, e));
}

bool embedded_list_series(store_reader *s, const store_selector *q, const store_budget *b, arena *a,
                          store_series_list *out, store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_series(&x->r, q, b, a, out, result, e));
}

bool embedded_list_types(store_reader *s, const store_selector *q, const store_budget *b, arena *a,
                         store_type_list *out, store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_types(&x->r, q, b, a, out, result, e));
}

bool embedded_list_labels(store_reader *s, const store_selector *q, const store_budget *b, str key,
                          arena *a, store_label_list *out, store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_labels(&x->r, q, b, key, a, out, result, e));
}

bool embedded_list_profiles(store_reader *s, const store_selector *q, const store_budget *b,
                            size_t max, arena *a, store_profile_list *out,
                            store_series_list *series, store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_profiles(&x->r, q, b, max, a, out, series, result, e));
}

bool embedded_counts(store_reader *s, const store_selector *q, const store_budget *b,
                     const store_counts_opts *o, arena *a, store_buckets *out,
                     store_read_result *result, err *e)
{
    embedded_reader *x = lock_reader(s);
    return unlocked(x, result_counts(&x->r, q, b, o, a, out, result, e));
}

/* Does not lock the reader, because callbacks of a read call it. Names are in a separate database,
 * which SQLite locks. */
bool embedded_put_names(store_reader *s, const model *m, uint64_t *n, err *e)
{
    names_db to;
    day_opts o = ((embedded_reader *)s)->r.o;
    o.write = true;
    bool ok = names_open(&to, &o, e) && names_put(&to, m, n, e);
    names_close(&to);
    return ok;
}
