/* Retention: removes data when the store is above its limit of bytes or age (rules: docs/store.md).
 * All functions require `work`. */
#include "store/embedded.h"
#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include "base/ban.h"

#define DAY_NS (24 * NS_PER_HOUR)
#define WINDOW_NS                                                                                  \
    DAY_NS /* the window in which retention by age removes at most a part of the
                          * samples */
enum { WINDOW_SHARE = 4 };

/* ---- the files ---- */

typedef struct kept_file {
    day_name name;
    uint64_t bytes;
    /* `first` and `last` are arrival times; all are loaded when needed */
    uint64_t through, samples, first, last;
    bool gone;
} kept_file;

typedef struct kept_files {
    kept_file *v;
    size_t n;
    bool facts;
} kept_files;

static bool list_files(embedded *x, kept_files *out, err *e)
{
    day_names names;
    *out = (kept_files){0};
    if (!day_list(x->dir, &names, e)) return false;
    out->v = calloc(names.n + 1, sizeof *out->v);
    for (size_t i = 0; out->v && i < names.n; i++)
        out->v[out->n++] =
            (kept_file){.name = names.v[i], .bytes = embedded_file_bytes(x, names.v[i])};
    free(names.v);
    return out->v || err_sys(e, ENOMEM, "no memory for the list of files");
}

/* A file of kiln 0.1.0 does not record when its data arrived; its name has the day. */
static void load_facts_of(embedded *x, kept_file *f)
{
    uint64_t begin = (uint64_t)f->name.day * DAY_NS;
    f->through = embedded_file_number(x, f->name, "SELECT value FROM meta WHERE key = 'through'");
    f->samples = embedded_file_number(x, f->name, "SELECT value FROM meta WHERE key = 'samples'");
    f->first =
        embedded_file_number(x, f->name, "SELECT value FROM meta WHERE key = 'arrived_first'");
    f->last = embedded_file_number(x, f->name, "SELECT value FROM meta WHERE key = 'arrived_last'");
    if (!f->first) f->first = begin;
    if (!f->last) f->last = begin + DAY_NS - 1;
}

/* Orders files by sequence number, which follows the order of arrival even if the clock jumped. */
static int by_arrival(const void *a, const void *b)
{
    const kept_file *x = a, *y = b;
    if (x->through != y->through) return x->through < y->through ? -1 : 1;
    return day_name_cmp(x->name, y->name);
}

static void load_facts(embedded *x, kept_files *f)
{
    if (f->facts) return;
    for (size_t i = 0; i < f->n; i++) load_facts_of(x, &f->v[i]);
    if (f->n) qsort(f->v, f->n, sizeof *f->v, by_arrival);
    f->facts = true;
}

static uint64_t bytes_of(const kept_files *f)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->n; i++) n += f->v[i].gone ? 0 : f->v[i].bytes;
    return n;
}

static uint64_t samples_of(const kept_files *f)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->n; i++) n += f->v[i].gone ? 0 : f->v[i].samples;
    return n;
}

/* Saves `through` in the catalog before the file that records it is removed. */
static bool drop(embedded *x, kept_file *f, const char *why, err *e)
{
    if (!catalog_set(&x->catalog, "through", x->through, e)) return false;
    embedded_remove_file(x, f->name, why);
    f->gone = true;
    return true;
}

/* ---- the expected size of raw bytes after compaction ---- */

#define SHRINK_PRIOR (4.0 * (1 << 20))    /* weight of the initial estimate, in raw bytes */
#define SHRINK_MEMORY (512.0 * (1 << 20)) /* raw bytes after which older measurements count half */
enum { SHRINK_GUESS = 250 };              /* compacted bytes per thousand raw bytes */

static double shrink_of(const embedded *x)
{
    const retention *r = &x->retention;
    return (r->shrunk + SHRINK_PRIOR * (double)r->guess / 1000) / (r->raw + SHRINK_PRIOR);
}

/* Adds a measurement: the growth of the files, and the raw bytes that were compacted into them. */
static bool measure_shrink(embedded *x, uint64_t bytes, uint64_t raw_done, err *e)
{
    retention *r = &x->retention;
    if (raw_done > r->raw_seen && bytes > r->bytes_seen) {
        r->raw += (double)(raw_done - r->raw_seen);
        r->shrunk += (double)(bytes - r->bytes_seen);
    }
    r->raw_seen = raw_done;
    if (r->raw > SHRINK_MEMORY) r->raw /= 2, r->shrunk /= 2;
    uint64_t now = (uint64_t)(shrink_of(x) * 1000);
    now = now < 1 ? 1 : now > 2000 ? 2000 : now;
    bool same = now * 5 >= r->saved * 4 && now * 4 <= r->saved * 5;
    if (same) return true;
    r->saved = now; /* for the next start */
    return catalog_set(&x->catalog, "shrink", now, e);
}

/* ---- by size ---- */

/* Data from the future (the clock was ahead) does not count as young: it would stay young for too
 * long. */
static bool is_young(const embedded *x, const kept_file *f, uint64_t now)
{
    uint64_t min = x->min_age < x->max_age ? x->min_age : x->max_age;
    return f->last + min > now && f->last < now + DAY_NS;
}

static bool retain_bytes(embedded *x, kept_files *f, uint64_t raw_bytes, err *e)
{
    uint64_t max = x->max_bytes, now = embedded_likely_time(x);
    uint64_t total = bytes_of(f) + (uint64_t)((double)raw_bytes * shrink_of(x));
    bool ok = true;
    if (total > max) load_facts(x, f);
    for (size_t i = 0; ok && total > max && i < f->n; i++) {
        if (f->v[i].gone || is_young(x, &f->v[i], now)) continue;
        ok = drop(x, &f->v[i], "the store is over its limit of bytes", e);
        if (ok) total -= f->v[i].bytes;
    }
    pthread_mutex_lock(&x->lock);
    x->full_of_young = total > max;
    pthread_mutex_unlock(&x->lock);
    return ok;
}

/* ---- by age ---- */

/* Returns the time of the wall clock, but not later than the newest data, so that a clock that is
 * ahead does not make data old. */
static uint64_t time_of_data(embedded *x)
{
    uint64_t wall = x->world->wall(x->world->ctx);
    pthread_mutex_lock(&x->lock);
    uint64_t newest = x->newest;
    pthread_mutex_unlock(&x->lock);
    return newest < wall ? newest : wall;
}

/* Returns the number of samples that may still be removed in the current window. A window begins
 * with the first removal beyond the regular one. */
static uint64_t *window_of(embedded *x, const kept_files *f)
{
    retention *r = &x->retention;
    uint64_t now = world_now(x->world);
    if (now >= r->window_end) {
        r->window_end = now + WINDOW_NS;
        r->window_left = samples_of(f) / WINDOW_SHARE + 1;
        r->logged_held = false;
    }
    return &r->window_left;
}

static void say_held(embedded *x)
{
    retention *r = &x->retention;
    x->retention_held = 1;
    if (r->logged_held) return;
    r->logged_held = true;
    embedded_log(x, STORE_FAILURE,
                 "store: more than a quarter of the samples are older than the maximum age: a "
                 "quarter is removed in 24 hours (store.drop-at-once: true removes all at once)");
}

/* Removes data that arrived before `before`, and subtracts its samples from *left. left NULL: no
 * limit. */
static bool trim_file(embedded *x, kept_file *f, uint64_t before, uint64_t *left, err *e)
{
    day_trimmed t = {0};
    err why = {0};
    if (!embedded_trim_file(x, f->name, before, &t, &why)) {
        if (why.code == ERR_MALFORMED) return embedded_quarantine(x, f->name, &why), true;
        if (e) *e = why;
        return false;
    }
    f->samples -= t.n_samples < f->samples ? t.n_samples : f->samples;
    f->first = before;
    if (left) *left -= t.n_samples < *left ? t.n_samples : *left;
    return true;
}

/* Removes data hour by hour of its arrival, while the window allows it. */
static bool trim_by_hours(embedded *x, kept_file *f, uint64_t cutoff, uint64_t *left, err *e)
{
    uint64_t end = cutoff < f->last + 1 ? cutoff : f->last + 1;
    while (*left && f->first < end) {
        uint64_t next = (f->first / NS_PER_HOUR + 1) * NS_PER_HOUR;
        if (!trim_file(x, f, next < cutoff ? next : cutoff, left, e)) return false;
    }
    return true;
}

static bool age_file(embedded *x, kept_file *f, uint64_t cutoff, uint64_t *left, err *e)
{
    static const char why[] = "it is past the maximum age";
    bool whole = f->last < cutoff;
    if (whole && (!left || f->samples <= *left)) {
        if (left) *left -= f->samples;
        return drop(x, f, why, e);
    }
    if (!left) return trim_file(x, f, cutoff, NULL, e);
    if (!trim_by_hours(x, f, cutoff, left, e)) return false;
    return !whole || f->first < cutoff || drop(x, f, why, e);
}

static bool age_files(embedded *x, kept_files *f, uint64_t cutoff, err *e)
{
    retention *r = &x->retention;
    /* Removal from hour to hour is regular; anything beyond is limited. */
    bool usual = x->o.store.drop_at_once || cutoff - r->aged_to <= 2 * NS_PER_HOUR;
    load_facts(x, f);
    uint64_t *left = usual ? NULL : window_of(x, f);
    for (size_t i = 0; i < f->n; i++) {
        if (f->v[i].gone || f->v[i].first >= cutoff) continue;
        if (left && !*left) return say_held(x), true;
        if (!age_file(x, &f->v[i], cutoff, left, e)) return false;
        if (!f->v[i].gone && f->v[i].first < cutoff) return say_held(x), true;
    }
    x->retention_held = 0;
    r->aged_to = cutoff;
    return catalog_set(&x->catalog, "aged_to", cutoff, e);
}

static bool retain_age(embedded *x, kept_files *f, err *e)
{
    uint64_t max = x->max_age, now = time_of_data(x);
    if (max == UINT64_MAX || now < max || embedded_paused(x)) return true;
    uint64_t cutoff = (now - max) / NS_PER_HOUR * NS_PER_HOUR;
    return cutoff <= x->retention.aged_to || age_files(x, f, cutoff, e);
}

/* ---- a run ---- */

bool embedded_retain(embedded *x, err *e)
{
    kept_files f;
    if (!embedded_watch_clock(x, e) || !list_files(x, &f, e)) return false;
    pthread_mutex_lock(&x->lock);
    uint64_t raw_bytes = x->raw_bytes, raw_done = x->raw_done;
    pthread_mutex_unlock(&x->lock);
    bool ok = measure_shrink(x, bytes_of(&f), raw_done, e) && retain_age(x, &f, e) &&
              retain_bytes(x, &f, raw_bytes, e);
    x->retention.bytes_seen = bytes_of(&f);
    free(f.v);
    return ok;
}

bool embedded_retain_open(embedded *x, err *e)
{
    kept_files f;
    retention *r = &x->retention;
    if (!catalog_get(&x->catalog, "shrink", &r->guess, e) ||
        !catalog_get(&x->catalog, "aged_to", &r->aged_to, e) || !list_files(x, &f, e))
        return false;
    if (!r->guess) r->guess = SHRINK_GUESS;
    r->saved = r->guess;
    load_facts(x, &f);
    for (size_t i = 0; i < f.n; i++)
        if (f.v[i].last > x->newest) x->newest = f.v[i].last;
    r->bytes_seen = bytes_of(&f);
    free(f.v);
    return embedded_meet_clock(x, e);
}
