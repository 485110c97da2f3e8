/* One file for each batch; the name has its number and item count, so that a restart needs no
 * index. */
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
    bool taken;
} entry;

struct spool {
    char *dir;
    otlp_signal signal;
    uint64_t max_bytes, bytes, taken, next; /* taken: bytes of batches that are in use */
    int lock;
    entry *v; /* ascending; v[first .. n) are valid */
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

/* ---- directory ---- */

/* Parses a file name.  Accepts exactly the names that name_of writes. */
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
        if (st.st_mode & 077)
            (void)!fchmodat(dirfd(d), f->d_name, 0600, 0); /* files of version 0.1.0 */
        ok = push(s, x);
    }
    closedir(d);
    if (!ok) return err_memory(e);
    if (s->n) qsort(s->v, s->n, sizeof *s->v, by_number);
    s->next = s->n ? s->v[s->n - 1].number + 1 : 1;
    return true;
}

/* ---- open, close ---- */

static bool take_lock(spool *s, err *e)
{
    char *path = path_of(s, "lock");
    if (!path) return err_memory(e);
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(path);
    if (s->lock < 0) return err_sys(e, errno, "cannot use the spool directory %s", s->dir);
    struct flock whole = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET}; /* a lock of the descriptor, not of the process */
    if (fcntl(s->lock, F_OFD_SETLK, &whole) == 0) return true;
    return err_set(e, ERR_MISMATCH, "the spool directory %s is in use by another process", s->dir);
}

/* Restricts an existing directory to its owner.  A directory of another user stays unchanged. */
static bool make_private(const spool *s, err *e)
{
    struct stat st;
    if (stat(s->dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return err_sys(e, errno, "cannot use the spool directory %s", s->dir);
    if (st.st_uid == geteuid() && st.st_mode & 077 && chmod(s->dir, 0700) != 0)
        return err_sys(e, errno, "cannot restrict the spool directory %s to its owner", s->dir);
    return true;
}

spool *spool_open(const char *dir, otlp_signal signal, uint64_t max_bytes, err *e)
{
    spool *s = calloc(1, sizeof *s);
    if (!s) return err_memory(e), NULL;
    *s = (spool){.dir = strdup(dir), .signal = signal, .lock = -1};
    s->max_bytes = max_bytes ? max_bytes : SPOOL_MAX_BYTES;
    if (!s->dir)
        err_memory(e);
    else if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        err_sys(e, errno, "cannot create the spool directory %s", dir);
    else if (take_lock(s, e) && make_private(s, e) && scan(s, e))
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

/* Returns the index of the oldest batch that is not in use, or s->n. */
static size_t oldest(const spool *s)
{
    size_t i = s->first;
    while (i < s->n && s->v[i].taken) i++;
    return i;
}

bool spool_waits(const spool *s) { return oldest(s) < s->n; }

static size_t numbered(const spool *s, uint64_t number)
{
    size_t i = s->first;
    while (i < s->n && s->v[i].number != number) i++;
    return i;
}

/* Removes entry i.  Moves up the entries before it, which are the few batches in use. */
static void drop_at(spool *s, size_t i)
{
    char name[NAME_MAX_BYTES];
    if (i == s->n) return;
    name_of(s, &s->v[i], name);
    unlink_in(s, name);
    s->bytes -= s->v[i].size;
    if (s->v[i].taken) s->taken -= s->v[i].size;
    memmove(s->v + s->first + 1, s->v + s->first, (i - s->first) * sizeof *s->v);
    s->first++;
}

void spool_drop(spool *s, uint64_t number) { drop_at(s, numbered(s, number)); }

void spool_return(spool *s, uint64_t number)
{
    size_t i = numbered(s, number);
    if (i == s->n || !s->v[i].taken) return;
    s->v[i].taken = false;
    s->taken -= s->v[i].size;
}

static bool make_room(spool *s, uint64_t n, spool_lost *lost)
{
    if (s->taken > s->max_bytes - n) return false;
    while (s->bytes > s->max_bytes - n) {
        size_t i = oldest(s);
        if (i == s->n) return false;
        lost->batches++;
        lost->items += s->v[i].items;
        drop_at(s, i);
    }
    return true;
}

bool spool_put(spool *s, str bytes, size_t items, uint64_t wall, spool_lost *lost, err *e)
{
    *lost = (spool_lost){0};
    if (bytes.n > s->max_bytes) return err_set(e, ERR_LIMIT, "a batch is larger than the spool");
    if (!make_room(s, bytes.n, lost))
        return err_set(e, ERR_BUSY, "the spool is full of batches that are being sent");
    entry x = {.number = wall > s->next ? wall : s->next, .size = bytes.n, .items = items};
    char *path = entry_path(s, &x);
    if (!path) return err_memory(e);
    bool ok = file_write_private(path, bytes, e);
    if (ok && !push(s, x)) {
        (void)unlink(path);
        ok = err_memory(e);
    }
    free(path);
    s->next = x.number + 1;
    return ok;
}

bool spool_take(spool *s, spool_batch *out, err *e)
{
    size_t i = oldest(s);
    if (i == s->n) return false;
    entry *x = &s->v[i];
    *out = (spool_batch){.number = x->number, .items = x->items};
    x->taken = true;
    s->taken += x->size;
    char *path = entry_path(s, x);
    if (!path) return err_memory(e);
    bool ok = file_read(path, 0, &out->file, e);
    free(path);
    return ok;
}
