/* The cache of symbol indexes on disk. Any number of processes share the directory without locks:
 * entries appear by rename, and the mapping of a reader stays valid when another process evicts the
 * entry. */
#include "symbol/cache.h"

#include "base/vec.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

enum { STALE_S = 3600 }; /* a temporary file this old is left over from a killed writer */

#define SUFFIX ".ksym"

static char *join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 2;
    char *p = malloc(n);
    if (p) snprintf(p, n, "%s/%s", a, b);
    return p;
}

static char *default_dir(void)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/') return join(xdg, "kiln/symbols");
    return home && home[0] == '/' ? join(home, ".cache/kiln/symbols") : NULL;
}

static void make_dirs(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
    (void)mkdir(path, 0700);
}

void cache_open(symbol_cache *c, const char *dir, uint64_t max_bytes)
{
    *c = (symbol_cache){.max_bytes = max_bytes ? max_bytes : CACHE_DEFAULT_BYTES};
    if (!dir)
        c->dir = default_dir();
    else if (*dir)
        c->dir = strdup(dir);
}

void cache_close(symbol_cache *c)
{
    free(c->dir);
    *c = (symbol_cache){0};
}

static char *entry_path(const symbol_cache *c, const char *key)
{
    char name[256];
    snprintf(name, sizeof name, "%s" SUFFIX, key);
    return join(c->dir, name);
}

bool cache_get(symbol_cache *c, const char *key, file_bytes *out)
{
    char *path = c->dir ? entry_path(c, key) : NULL;
    bool ok = path && file_map(path, out, NULL);      /* an open module keeps it */
    if (ok) (void)utimensat(AT_FDCWD, path, NULL, 0); /* marks the entry as used */
    c->hits += ok;
    c->misses += !ok;
    free(path);
    return ok;
}

/* ---- eviction ---- */

typedef struct entry {
    char name[256];
    struct timespec used;
    uint64_t bytes;
} entry;

static int by_age(const void *x, const void *y)
{
    const struct timespec *a = &((const entry *)x)->used, *b = &((const entry *)y)->used;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Returns whether the file is left over from a killed writer. */
static bool is_stale(const char *name, const struct stat *st)
{
    struct timespec now;
    bool ours = strstr(name, SUFFIX) && !str_ends(str_of(name), STR(SUFFIX));
    return ours && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec - st->st_mtim.tv_sec > STALE_S;
}

static void evict(symbol_cache *c)
{
    DIR *d = opendir(c->dir);
    arena a = {.budget = 64 << 20};
    VEC(entry) v = {0};
    uint64_t sum = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        if (is_stale(e->d_name, &st)) (void)unlinkat(dirfd(d), e->d_name, 0);
        if (!str_ends(str_of(e->d_name), STR(SUFFIX))) continue;
        entry *x = vec_push(&a, &v);
        if (!x) break;
        snprintf(x->name, sizeof x->name, "%s", e->d_name);
        x->used = st.st_mtim;
        x->bytes = (uint64_t)st.st_size;
        sum += x->bytes;
    }
    if (v.n) qsort(v.v, v.n, sizeof *v.v, by_age);
    for (size_t i = 0; i < v.n && sum > c->max_bytes; i++) {
        sum -= v.v[i].bytes;
        c->evicted += unlinkat(dirfd(d), v.v[i].name, 0) == 0;
    }
    if (d) closedir(d);
    arena_free(&a);
}

void cache_put(symbol_cache *c, const char *key, str bytes)
{
    if (!c->dir || bytes.n > c->max_bytes) return;
    char *path = entry_path(c, key);
    make_dirs(c->dir);
    bool ok = path && file_write(path, bytes, NULL);
    c->written += ok;
    c->failed += !ok;
    free(path);
    if (ok) evict(c);
}
