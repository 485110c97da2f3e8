#include "otlp/spool.h"

#include "base/ban.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER_DIGITS = 20, NAME_MAX_BYTES = 80 };

typedef struct entry {
    uint64_t number, size;
    size_t items;
} entry;

struct spool {
    char *dir;
    otlp_signal signal;
    uint64_t max_bytes, bytes, next;
    int lock;
    entry *v; /* ascending; the live ones are v[first .. n) */
    size_t first, n, cap;
};

static void name_of(const spool *s, const entry *x, char out[NAME_MAX_BYTES])
{
    snprintf(out, NAME_MAX_BYTES, "%0*" PRIu64 "-%zu.%s.otlp", NUMBER_DIGITS, x->number, x->items,
             otlp_signal_name(s->signal));
}

static char *path_of(const spool *s, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", s->dir, name) < 0 ? NULL : path;
}

static char *entry_path(const spool *s, const entry *x)
{
    char name[NAME_MAX_BYTES];
    name_of(s, x, name);
    return path_of(s, name);
}

static void unlink_in(const spool *s, const char *name)
{
    char *path = path_of(s, name);
    if (path) (void)unlink(path);
    free(path);
}

/* ---- what is there ---- */

/* Exactly the names that name_of makes. */
static bool parse_name(const spool *s, const char *name, entry *out)
{
    char *end, again[NAME_MAX_BYTES];
    if (strspn(name, "0123456789") != NUMBER_DIGITS || name[NUMBER_DIGITS] != '-') return false;
    errno = 0;
    out->number = strtoull(name, &end, 10);
    out->items = (size_t)strtoull(end + 1, &end, 10);
    if (errno) return false;
    name_of(s, out, again);
    return strcmp(name, again) == 0;
}

static bool is_unfinished(const char *name)
{
    str n = str_of(name);
    return strspn(name, "0123456789") == NUMBER_DIGITS && str_ends(n, STR(".tmp"));
}

static bool push(spool *s, entry x)
{
    if (s->first && s->n == s->cap) {
        memmove(s->v, s->v + s->first, (s->n - s->first) * sizeof *s->v);
        s->n -= s->first, s->first = 0;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        entry *v = realloc(s->v, cap * sizeof *v);
        if (!v) return false;
        s->v = v, s->cap = cap;
    }
    s->v[s->n++] = x;
    s->bytes += x.size;
    return true;
}

static int by_number(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static bool scan(spool *s, err *e)
{
    DIR *d = opendir(s->dir);
    if (!d) return err_sys(e, errno, "cannot read the spool directory %s", s->dir);
    bool ok = true;
    for (struct dirent *f; ok && (f = readdir(d));) {
        entry x = {0};
        struct stat st;
        if (is_unfinished(f->d_name)) unlink_in(s, f->d_name);
        if (!parse_name(s, f->d_name, &x) ||
            fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        x.size = (uint64_t)st.st_size;
        ok = push(s, x);
    }
    closedir(d);
    if (!ok) return err_set(e, ERR_LIMIT, "out of memory");
    if (s->n) qsort(s->v, s->n, sizeof *s->v, by_number);
    s->next = s->n ? s->v[s->n - 1].number + 1 : 1;
    return true;
}

/* ---- open, close ---- */

static bool take_lock(spool *s, err *e)
{
    char *path = path_of(s, "lock");
    if (!path) return err_set(e, ERR_LIMIT, "out of memory");
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(path);
    if (s->lock < 0) return err_sys(e, errno, "cannot use the spool directory %s", s->dir);
    struct flock whole = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET}; /* goes with the descriptor, not the process */
    if (fcntl(s->lock, F_OFD_SETLK, &whole) == 0) return true;
    return err_set(e, ERR_MISMATCH, "the spool directory %s is in use by another process", s->dir);
}

spool *spool_open(const char *dir, otlp_signal signal, uint64_t max_bytes, err *e)
{
    spool *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    *s = (spool){.dir = strdup(dir), .signal = signal, .lock = -1};
    s->max_bytes = max_bytes ? max_bytes : SPOOL_MAX_BYTES;
    if (!s->dir)
        err_set(e, ERR_LIMIT, "out of memory");
    else if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        err_sys(e, errno, "cannot make the spool directory %s", dir);
    else if (take_lock(s, e) && scan(s, e))
        return s;
    spool_close(s);
    return NULL;
}

void spool_close(spool *s)
{
    if (!s) return;
    if (s->lock >= 0) close(s->lock);
    free(s->dir);
    free(s->v);
    free(s);
}

void spool_forked(spool *s)
{
    if (s->lock >= 0) close(s->lock);
    s->lock = -1;
}

/* ---- batches ---- */

size_t spool_count(const spool *s) { return s->n - s->first; }
uint64_t spool_bytes(const spool *s) { return s->bytes; }

void spool_drop_oldest(spool *s)
{
    if (s->first == s->n) return;
    const entry *x = &s->v[s->first++];
    char name[NAME_MAX_BYTES];
    name_of(s, x, name);
    unlink_in(s, name);
    s->bytes -= x->size;
}

static void make_room(spool *s, uint64_t n, spool_lost *lost)
{
    while (s->first < s->n && s->bytes > s->max_bytes - n) {
        lost->batches++;
        lost->items += s->v[s->first].items;
        spool_drop_oldest(s);
    }
}

bool spool_put(spool *s, str bytes, size_t items, uint64_t wall, spool_lost *lost, err *e)
{
    *lost = (spool_lost){0};
    if (bytes.n > s->max_bytes) return err_set(e, ERR_LIMIT, "a batch is larger than the spool");
    make_room(s, bytes.n, lost);
    entry x = {.number = wall > s->next ? wall : s->next, .size = bytes.n, .items = items};
    char *path = entry_path(s, &x);
    if (!path) return err_set(e, ERR_LIMIT, "out of memory");
    bool ok = file_write(path, bytes, e);
    if (ok && !push(s, x)) {
        (void)unlink(path);
        ok = err_set(e, ERR_LIMIT, "out of memory");
    }
    free(path);
    s->next = x.number + 1;
    return ok;
}

bool spool_oldest(const spool *s, size_t *items, file_bytes *out, err *e)
{
    if (s->first == s->n) return false;
    const entry *x = &s->v[s->first];
    char *path = entry_path(s, x);
    if (!path) return err_set(e, ERR_LIMIT, "out of memory");
    *items = x->items;
    bool ok = file_read(path, 0, out, e);
    free(path);
    return ok;
}
