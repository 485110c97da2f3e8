/* Locks the segments that a reader needs, so that the writer neither removes nor overwrites them.
 * They are OFD locks, one for each reader, and end with the process. */
#include "store/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/ban.h"

/* Returns 0 when the lock was acquired, otherwise errno. */
static int take_lock(int fd, short kind)
{
    struct flock all = {.l_type = kind, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &all) == 0 ? 0 : errno;
}

int segment_claim(const char *dir, uint32_t number)
{
    char path[JOURNAL_PATH];
    segment_path(dir, number, path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && take_lock(fd, F_WRLCK) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

void segment_unclaim(int fd)
{
    if (fd >= 0) close(fd);
}

/* ---- for readers ---- */

static bool began_anew(err *e)
{
    return err_set(e, ERR_MISMATCH, "the journal was compacted while it was read");
}

static bool hold_one(journal_hold *h, const char *dir, const journal_segment *s, err *e)
{
    char path[JOURNAL_PATH];
    segment_path(dir, s->number, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return began_anew(e);
    if (fd < 0) return err_sys(e, errno, "%s: cannot be opened", path);
    h->fd[h->n] = fd;
    h->v[h->n++] = *s;
    int why = take_lock(fd, F_RDLCK);
    if (why == EAGAIN || why == EACCES) return began_anew(e);
    return !why || err_sys(e, why, "%s: cannot be locked", path);
}

/* Checks that the locked segments, which no longer change, are still the listed ones. */
static bool still_listed(const journal_hold *h, sqlite3_vfs *vfs, const char *dir, err *e)
{
    segment_list now;
    if (!h->n) return true;
    if (!segments_list(vfs, dir, &now, e)) return false;
    size_t i = 0, k = 0;
    for (; i < h->n; i++, k++) {
        while (k < now.n && now.v[k].number < h->v[i].number) k++;
        if (k == now.n || now.v[k].number != h->v[i].number || now.v[k].salt != h->v[i].salt) break;
    }
    free(now.v);
    return i == h->n || began_anew(e);
}

bool journal_hold_take(journal_hold *h, sqlite3_vfs *vfs, const char *dir, uint64_t from, err *e)
{
    segment_list list;
    *h = (journal_hold){.first = from};
    if (!segments_list(vfs, dir, &list, e)) return false;
    h->v = calloc(list.n + 1, sizeof *h->v);
    h->fd = calloc(list.n + 1, sizeof *h->fd);
    bool ok = (h->v && h->fd) || err_sys(e, ENOMEM, "no memory to read the journal");
    h->gap = list.n && list.v[0].first_seq > from;
    if (h->gap) h->first = list.v[0].first_seq;
    for (size_t i = 0; ok && i < list.n; i++)
        if (i + 1 == list.n || list.v[i + 1].first_seq > from) ok = hold_one(h, dir, &list.v[i], e);
    ok = ok && still_listed(h, vfs, dir, e);
    free(list.v);
    if (!ok) journal_hold_free(h);
    return ok;
}

void journal_hold_free(journal_hold *h)
{
    for (size_t i = 0; i < h->n; i++) close(h->fd[i]);
    free(h->v);
    free(h->fd);
    *h = (journal_hold){0};
}
