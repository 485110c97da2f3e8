/* Keeps a list of texts under names in memory and in a file (saved.h). */
#include "store/saved.h"

#include "base/buf.h"
#include "base/hash_long.h"
#include "base/utf8.h"
#include "store/day.h"
#include "store/owner_only.h"
#include "store/vfile.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/ban.h"

#define HEAD "kiln saved 1\n"
enum { SEAL = 22, FILE_MAX = 8 << 20 }; /* SAVED_MAX entries need half of it */

struct saved {
    char dir[DAY_PATH];
    const char *file;
    sqlite3_vfs *vfs;
    pthread_mutex_t lock;
    arena texts; /* names and links of `v` */
    saved_entries v;
};

/* ---- rules ---- */

static bool check_name(str name, err *e)
{
    if (!name.n || name.n > SAVED_NAME)
        return err_set(e, ERR_USAGE, "a name has 1 to %d bytes", SAVED_NAME);
    if (name.p[0] == ' ' || name.p[name.n - 1] == ' ' || memchr(name.p, '/', name.n))
        return err_set(e, ERR_USAGE,
                       "a name neither contains a slash nor begins or ends with a space");
    for (size_t at = 0, n; at < name.n; at += n) {
        uint32_t code;
        if (utf8_harmful(name.p + at, name.n - at, &n, &code))
            return err_set(e, ERR_USAGE, "a name is UTF-8 without control characters");
    }
    return true;
}

static bool check_link(str link, err *e)
{
    if (link.n > SAVED_LINK)
        return err_set(e, ERR_USAGE, "a link has at most %d bytes", SAVED_LINK);
    if (!link.n || !(link.p[0] == '?' || link.p[0] == '#'))
        return err_set(e, ERR_USAGE,
                       "a link is the query and fragment of an address: it begins with ? or #");
    for (size_t i = 0; i < link.n; i++)
        if (link.p[i] <= ' ' || link.p[i] > '~')
            return err_set(e, ERR_USAGE, "a link has visible ASCII characters only");
    return true;
}

static saved_entry *find(const saved *s, str name)
{
    for (size_t i = 0; i < s->v.n; i++)
        if (str_eq(s->v.v[i].name, name)) return &s->v.v[i];
    return NULL;
}

/* ---- the file ---- */

static void path_of(const saved *s, const char *suffix, char out[DAY_PATH])
{
    snprintf(out, DAY_PATH, "%s/%s%s", s->dir, s->file, suffix);
}

static str cut_at(str *rest, char c)
{
    const char *end = rest->n ? memchr(rest->p, c, rest->n) : NULL;
    str head = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t used = head.n + (end != NULL);
    *rest = (str){rest->p + used, rest->n - used};
    return head;
}

static bool take_entry(saved *s, str text)
{
    err e = {0};
    char time[24];
    str digits = cut_at(&text, '\t'), name = cut_at(&text, '\t');
    snprintf(time, sizeof time, "%.*s", (int)(digits.n < sizeof time ? digits.n : 0), digits.p);
    if (!check_name(name, &e) || !check_link(text, &e) || find(s, name)) return false;
    saved_entry *x = vec_push(&s->texts, &s->v);
    if (!x) return false;
    *x = (saved_entry){.name = name, .link = text, .changed = strtoull(time, NULL, 10)};
    return true;
}

static bool parse(saved *s, str text)
{
    uint64_t want;
    if (text.n < sizeof HEAD - 1 + SEAL || !str_starts(text, STR(HEAD))) return false;
    size_t body = text.n - SEAL;
    if (sscanf(text.p + body, "seal %16" SCNx64, &want) != 1 || text.p[text.n - 1] != '\n' ||
        hash_long(text.p, body) != want)
        return false;
    str rest = {text.p + sizeof HEAD - 1, body - (sizeof HEAD - 1)};
    while (rest.n)
        if (!take_entry(s, cut_at(&rest, '\n'))) return false;
    return true;
}

/* Returns false with an error of the system, or without one when the file is damaged. */
static bool load(saved *s, err *e)
{
    char path[DAY_PATH];
    uint64_t size = 0;
    size_t got = 0;
    path_of(s, "", path);
    vfile *f = vfile_open(s->vfs, path, VFILE_READ, e);
    if (!f && e->sys == ENOENT) return *e = (err){0}, true;
    char *text = NULL;
    bool ok = f && vfile_size(f, &size, e);
    if (ok && size <= FILE_MAX) {
        text = arena_alloc(&s->texts, (size_t)size + 1);
        ok = text ? vfile_read(f, 0, text, (size_t)size, &got, e) : err_memory(e);
    }
    vfile_close(f);
    if (!ok || !text) return false;
    text[got] = 0;
    return parse(s, (str){text, got});
}

static bool sync_directory(const char *dir, err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0) close(fd);
    return ok || err_sys(e, why, "%s: cannot be synced", dir);
}

static bool write_file(const saved *s, const saved_entries *v, err *e)
{
    char path[DAY_PATH], next[DAY_PATH];
    buf b = {0};
    buf_z(&b, HEAD);
    for (size_t i = 0; i < v->n; i++)
        buf_printf(&b, "%" PRIu64 "\t%.*s\t%.*s\n", v->v[i].changed, STR_ARG(v->v[i].name),
                   STR_ARG(v->v[i].link));
    if (!b.failed) buf_printf(&b, "seal %016" PRIx64 "\n", hash_long(b.p, b.n));
    if (b.failed) return buf_free(&b), err_memory(e);
    path_of(s, "", path);
    path_of(s, ".next", next);
    owner_only_make(next);
    vfile *f = vfile_open(s->vfs, next, VFILE_WRITE, e);
    if (f) vfile_cut(f, 0); /* the file may be left by a writer that died */
    bool ok = f && vfile_write(f, 0, buf_view(&b), e) && vfile_sync(f, e);
    vfile_close(f);
    buf_free(&b);
    if (ok && rename(next, path) != 0) ok = err_sys(e, errno, "%s: cannot be written", path);
    if (!ok) return (void)unlink(next), false;
    return sync_directory(s->dir, e);
}

/* ---- changes ---- */

static int by_name(const void *a, const void *b)
{
    const saved_entry *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static bool copy_text(arena *a, str text, str *out)
{
    char *p = arena_alloc(a, text.n + 1);
    if (!p) return false;
    memcpy(p, text.p, text.n); /* names and links are not empty */
    *out = (str){p, text.n};
    return true;
}

static bool copy_entry(arena *a, const saved_entry *x, saved_entries *out)
{
    saved_entry *to = vec_push(a, out);
    if (!to) return false;
    to->changed = x->changed;
    return copy_text(a, x->name, &to->name) && copy_text(a, x->link, &to->link);
}

/* Makes a list without the entry `drop` and with `add`, either of which may be NULL, durable. Memory
 * and file always agree unless the directory cannot be synced; then the change counts as made. */
static bool change(saved *s, const saved_entry *drop, const saved_entry *add, err *e)
{
    arena a = {.budget = FILE_MAX};
    saved_entries v = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s->v.n; i++)
        if (&s->v.v[i] != drop) ok = copy_entry(&a, &s->v.v[i], &v);
    ok = ok && (!add || copy_entry(&a, add, &v));
    if (!ok) {
        arena_free(&a);
        return err_memory(e);
    }
    if (v.n) qsort(v.v, v.n, sizeof *v.v, by_name);
    if (!write_file(s, &v, e)) {
        arena_free(&a);
        return false;
    }
    arena_free(&s->texts);
    s->texts = a;
    s->v = v;
    return true;
}

static bool taken(str name, err *e)
{
    return err_set(e, ERR_MISMATCH, "the name %.*s is taken", STR_ARG(name));
}

static bool missing(err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "nothing is saved under this name");
}

bool saved_put(saved *s, str name, str link, bool replace, uint64_t now, err *e)
{
    if (!check_name(name, e) || !check_link(link, e)) return false;
    pthread_mutex_lock(&s->lock);
    const saved_entry *old = find(s, name);
    bool ok;
    if (old && !replace)
        ok = taken(name, e);
    else if (!old && s->v.n >= SAVED_MAX)
        ok = err_set(e, ERR_MISMATCH, "%d selections are saved, which is the limit: delete one",
                     SAVED_MAX);
    else
        ok = change(s, old, &(saved_entry){.name = name, .link = link, .changed = now}, e);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool saved_rename(saved *s, str from, str to, uint64_t now, err *e)
{
    if (!check_name(to, e)) return false;
    pthread_mutex_lock(&s->lock);
    const saved_entry *old = find(s, from);
    bool ok;
    if (!old)
        ok = missing(e);
    else if (find(s, to))
        ok = taken(to, e);
    else
        ok = change(s, old, &(saved_entry){.name = to, .link = old->link, .changed = now}, e);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool saved_remove(saved *s, str name, err *e)
{
    pthread_mutex_lock(&s->lock);
    const saved_entry *old = find(s, name);
    bool ok = old ? change(s, old, NULL, e) : missing(e);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

bool saved_list(saved *s, arena *a, saved_entries *out, err *e)
{
    bool ok = true;
    *out = (saved_entries){0};
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; ok && i < s->v.n; i++) ok = copy_entry(a, &s->v.v[i], out);
    pthread_mutex_unlock(&s->lock);
    return ok || err_memory(e);
}

/* ---- open and close ---- */

static bool set_aside(saved *s, err *e)
{
    char path[DAY_PATH], aside[DAY_PATH];
    path_of(s, "", path);
    path_of(s, ".corrupt", aside);
    arena_free(&s->texts);
    s->texts = (arena){.budget = FILE_MAX};
    s->v = (saved_entries){0};
    return rename(path, aside) == 0 || err_sys(e, errno, "%s: cannot be renamed", path);
}

saved *saved_open(const char *dir, const char *file, bool *damaged, err *e)
{
    saved *s = calloc(1, sizeof *s);
    *damaged = false;
    if (!s) return err_memory(e), NULL;
    pthread_mutex_init(&s->lock, NULL);
    snprintf(s->dir, sizeof s->dir, "%s", dir);
    s->file = file;
    s->texts = (arena){.budget = FILE_MAX + (1 << 20)};
    bool ok = vfs_find(NULL, &s->vfs, e) && load(s, e);
    if (!ok && !e->code) *damaged = true, ok = set_aside(s, e);
    if (ok) return s;
    saved_close(s);
    return NULL;
}

void saved_close(saved *s)
{
    if (!s) return;
    arena_free(&s->texts);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
