/* Day files as the writer handles them: settling unsure commits, removing, trimming and setting
 * aside. Every removal of data goes through this file. */
#include "store/embedded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/ban.h"

uint64_t embedded_file_bytes(const embedded *x, day_name name)
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

/* Removes the file from the state of the writer, including an unsure commit. */
static void let_go(embedded *x, day_name name)
{
    if (x->unsure && day_name_cmp(x->unsure_of, name) == 0) x->unsure = false;
    if (!x->w || day_name_cmp(x->w->name, name) != 0) return;
    day_writer_close(x->w);
    x->w = NULL;
}

/* ---- content ---- */

uint64_t embedded_file_number(const embedded *x, day_name name, const char *sql)
{
    uint64_t n = 0;
    database d = {0};
    day_opts o = x->files;
    o.write = false;
    if (database_open(&d, &o, name, NULL)) (void)!database_number(&d, sql, &n, NULL);
    database_close(&d);
    return n;
}

void embedded_count_raw(embedded *x)
{
    day_names names;
    uint64_t n = 0;
    if (!day_list(x->dir, &names, NULL)) return;
    for (size_t i = 0; i < names.n; i++)
        n += embedded_file_number(x, names.v[i], "SELECT count(*) FROM raw");
    free(names.v);
    pthread_mutex_lock(&x->lock);
    x->kept_items = n;
    pthread_mutex_unlock(&x->lock);
}

/* A commit that failed, or whose writer died, may or may not take effect: SQLite applies complete
 * frames after the last good commit when it recovers the file. A small second commit makes the
 * outcome durable; then the file shows whether the first one took effect. */
bool embedded_settle(embedded *x, uint64_t *through, err *e)
{
    if (!x->unsure) return true;
    database d = {0};
    err why = {0};
    uint64_t found = 0;
    bool ok = database_open(&d, &x->files, x->unsure_of, &why) && database_settle(&d, &why) &&
              database_number(&d, "SELECT value FROM meta WHERE key = 'through'", &found, &why);
    if (ok) embedded_list_file(x, &d, x->unsure_of);
    database_close(&d);
    if (!ok && why.code != ERR_MALFORMED) {
        if (e) *e = why;
        return false;
    }
    if (ok && found > *through) *through = found;
    if (!ok) embedded_quarantine(x, x->unsure_of, &why); /* the journal still has its items */
    x->unsure = false;
    return true;
}

static void list_again(embedded *x, day_name name)
{
    database d = {0};
    day_opts o = x->files;
    o.write = false;
    if (database_open(&d, &o, name, NULL)) embedded_list_file(x, &d, name);
    database_close(&d);
}

/* A file must not have less than its manifest line states. So the line is removed first and added
 * again with the new counts. */
bool embedded_trim_file(embedded *x, day_name name, uint64_t before, day_trimmed *out, err *e)
{
    char text[DAY_NAME];
    let_go(x, name);
    if (!embedded_unlist_file(x, name, false, e)) return false;
    bool ok = day_trim(&x->files, name, x->o.store.memory / 4, before, out, e);
    list_again(x, name);
    if (!ok) return false;
    if (!out->n_profiles && !out->n_raw) return true;
    day_name_text(name, text);
    embedded_log(x, STORE_REMOVED,
                 "store: removed %" PRIu64 " samples of %s: they are older than the maximum age",
                 out->n_samples, text);
    pthread_mutex_lock(&x->lock);
    x->n.dropped_samples += out->n_samples;
    pthread_mutex_unlock(&x->lock);
    if (out->n_raw) embedded_count_raw(x);
    return true;
}

/* ---- removal ---- */

void embedded_remove_file(embedded *x, day_name name, const char *why)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char text[DAY_NAME], path[DAY_PATH];
    let_go(x, name);
    uint64_t samples =
        embedded_file_number(x, name, "SELECT value FROM meta WHERE key = 'samples'");
    day_name_text(name, text);
    bool unlisted = embedded_unlist_file(x, name, false, NULL);
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        snprintf(path, sizeof path, "%s/%s%s", x->dir, text, tails[i]);
        if (unlink(path) != 0 && errno != ENOENT)
            embedded_log(x, STORE_FAILURE, "store: %s cannot be removed: %s", path,
                         strerror(errno));
    }
    if (!unlisted) embedded_save_manifest(x); /* removing the file freed space for it */
    embedded_log(x, STORE_REMOVED, "store: removed %s with %" PRIu64 " samples: %s", text, samples,
                 why);
    pthread_mutex_lock(&x->lock);
    x->n.dropped_files++;
    x->n.dropped_samples += samples;
    pthread_mutex_unlock(&x->lock);
    embedded_count_raw(x);
}

/* ---- quarantine ---- */

/* Chooses a name that no file that was set aside has. */
static void name_aside(embedded *x, const char *name, char aside[static DAY_PATH])
{
    char path[DAY_PATH];
    for (unsigned n = 1; n == 1 || access(path, F_OK) == 0; n++) {
        if (n == 1)
            snprintf(aside, DAY_PATH, "%s.corrupt", name);
        else
            snprintf(aside, DAY_PATH, "%s.%u.corrupt", name, n);
        snprintf(path, sizeof path, "%s/%s", x->dir, aside);
    }
}

void embedded_set_aside(embedded *x, const char *name, const err *why)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    char from[DAY_PATH], to[DAY_PATH], aside[DAY_PATH];
    name_aside(x, name, aside);
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        snprintf(from, sizeof from, "%s/%s%s", x->dir, name, tails[i]);
        snprintf(to, sizeof to, "%s/%s%s", x->dir, aside, tails[i]);
        if (rename(from, to) != 0 && errno != ENOENT)
            embedded_log(x, STORE_FAILURE, "store: %s cannot be renamed: %s", from,
                         strerror(errno));
    }
    embedded_log(x, STORE_QUARANTINE, "store: %s is damaged and set aside as %s: %s", name, aside,
                 why->msg);
    pthread_mutex_lock(&x->lock);
    x->n.quarantined++;
    pthread_mutex_unlock(&x->lock);
}

void embedded_quarantine(embedded *x, day_name name, const err *why)
{
    char text[DAY_NAME];
    day_name_text(name, text);
    let_go(x, name);
    /* Saves `through` before the file that records it is renamed. During recovery, `through` is
     * determined again. On a broken disk, the next run retries. */
    if (x->through && !catalog_set(&x->catalog, "through", x->through, NULL)) return;
    embedded_set_aside(x, text, why);
    (void)!embedded_unlist_file(x, name, true, NULL);
    embedded_count_raw(x);
}
