/* Statistics and gauges of a store, and the entry point of backups. Sizes come from the directory,
 * counts from the files themselves. */
#include "store/embedded.h"

#include "store/backup.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <fcntl.h>
#include "base/ban.h"

/* ---- statistics ---- */

static bool number(database *d, const char *sql, uint64_t *out)
{
    return database_number(d, sql, out, NULL);
}

static void file_facts(const reader *r, day_name name, store_file *f)
{
    database d = {0};
    if (!database_open(&d, &r->o, name, NULL)) return;
    bool ok = number(&d, "SELECT value FROM meta WHERE key = 'first'", &f->first) &&
              number(&d, "SELECT value FROM meta WHERE key = 'last'", &f->last) &&
              number(&d, "SELECT value FROM meta WHERE key = 'samples'", &f->n_samples) &&
              number(&d, "SELECT value FROM meta WHERE key = 'profiles'", &f->n_profiles) &&
              number(&d, "SELECT max(id) FROM series", &f->n_series) &&
              number(&d, "SELECT count(*) FROM block", &f->n_blocks);
    (void)ok;
    database_close(&d);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const store_file *)a)->name, ((const store_file *)b)->name);
}

static bool add_file(const reader *r, const char *name, uint64_t bytes, arena *a, store_stats *out,
                     err *e)
{
    day_name day_of;
    bool good = day_name_parse(name, &day_of), corrupt = str_ends(str_of(name), STR(".corrupt"));
    out->bytes += bytes;
    if (!good && !corrupt) return true;
    store_file *f = vec_push(a, &out->files);
    size_t n = strlen(name);
    char *copy = f ? arena_alloc(a, n) : NULL;
    if (!copy) return err_memory(e);
    memcpy(copy, name, n);
    *f = (store_file){.name = {copy, n}, .bytes = bytes, .corrupt = corrupt};
    if (good) file_facts(r, day_of, f);
    out->n_series += f->n_series;
    out->n_profiles += f->n_profiles;
    out->n_samples += f->n_samples;
    return true;
}

/* Adds the size of a file that SQLite creates next to a database to that database. */
static bool add_beside(store_stats *out, const char *name, uint64_t bytes)
{
    str s = str_of(name);
    if (!str_ends(s, STR("-wal")) && !str_ends(s, STR("-shm"))) return false;
    out->bytes += bytes;
    for (size_t i = 0; i < out->files.n; i++)
        if (str_eq(out->files.v[i].name, (str){s.p, s.n - 4})) out->files.v[i].bytes += bytes;
    return true;
}

/* Returns the name of the next file, or NULL. */
static const char *next_file(DIR *d, uint64_t *bytes)
{
    for (struct dirent *f; (f = readdir(d));) {
        struct stat st;
        *bytes = 0;
        if (fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        *bytes = (uint64_t)st.st_size;
        return f->d_name;
    }
    return NULL;
}

static bool walk_directory(const reader *r, bool beside, arena *a, store_stats *out, err *e)
{
    DIR *d = opendir(r->o.dir);
    if (!d) return err_sys(e, errno, "%s: cannot be read", r->o.dir);
    bool ok = true;
    uint64_t bytes;
    for (const char *name; ok && (name = next_file(d, &bytes));) {
        str s = str_of(name);
        bool is_beside = str_ends(s, STR("-wal")) || str_ends(s, STR("-shm"));
        if (is_beside && beside) add_beside(out, name, bytes);
        if (!is_beside && !beside) ok = add_file(r, name, bytes, a, out, e);
    }
    closedir(d);
    return ok;
}

static uint64_t bytes_on_disk(const embedded *x)
{
    DIR *d = opendir(x->dir);
    uint64_t total = 0, bytes;
    while (d && next_file(d, &bytes)) total += bytes;
    if (d) closedir(d);
    return total;
}

store_gauges embedded_gauged(const store *s)
{
    embedded *x = (embedded *)(uintptr_t)s;
    store_gauges out = {.disk_bytes = bytes_on_disk(x)};
    pthread_mutex_lock(&x->lock);
    out.raw_items = x->raw_items;
    out.raw_bytes = x->raw_bytes;
    out.kept_items = x->kept_items;
    out.queue_items = x->n_put - x->n_settled;
    out.queue_bytes = journal_group_bytes(&x->next.records) + x->in_flight;
    embedded_gauge_lag(x, &out);
    embedded_gauge_retention(x, &out);
    pthread_mutex_unlock(&x->lock);
    return out;
}

static bool on_waiting(void *ctx, const raw_item *i, bool *stop, err *e)
{
    store_stats *out = ctx;
    (void)stop, (void)e;
    out->raw_items++;
    out->raw_bytes += i->bytes.n;
    return true;
}

bool embedded_stats(store_reader *s, arena *a, store_stats *out, err *e)
{
    embedded_reader *x = (embedded_reader *)s;
    reader *r = &x->r;
    *out = (store_stats){0};
    pthread_mutex_lock(&x->lock);
    bool ok = walk_directory(r, false, a, out, e) && walk_directory(r, true, a, out, e) &&
              reader_begin(r, e);
    if (ok) {
        for (size_t i = 0; i < r->n_days; i++) out->kept_items += r->days[i]->n_raw;
        ok = reader_items(r, on_waiting, out, e);
        reader_end(r);
    }
    pthread_mutex_unlock(&x->lock);
    if (out->files.n) qsort(out->files.v, out->files.n, sizeof *out->files.v, by_name);
    return ok;
}

/* ---- backup ---- */

static bool count_waiting(void *ctx, const raw_item *i, bool *stop, err *e)
{
    (void)i, (void)stop, (void)e;
    ++*(uint64_t *)ctx;
    return true;
}

static void count_missing(void *ctx, const manifest_file *gone, uint64_t items, const char *why)
{
    (void)why;
    *(uint64_t *)ctx += gone ? 1 : items;
}

bool embedded_backup(store_reader *s, const char *dest, const store_backup_opts *o,
                     store_backup_result *out, err *e)
{
    embedded_reader *x = (embedded_reader *)s;
    reader *r = &x->r;
    pthread_mutex_lock(&x->lock);
    bool ok = reader_begin(r, e);
    if (ok) {
        uint64_t items = 0, damaged = r->listed.lost_items;
        reader_missing(r, count_missing, &damaged);
        ok = reader_items(r, count_waiting, &items, e) && backup_run(r, dest, o, out, e);
        out->n_items = items;
        out->n_damaged = damaged + r->n_damaged;
        reader_end(r);
    }
    pthread_mutex_unlock(&x->lock);
    return ok;
}
