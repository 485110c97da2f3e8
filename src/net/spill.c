/* Temporary files with O_TMPFILE, or, where the file system lacks it, with a name that is unlinked
 * at once. */
#include "net/spill.h"

#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* For file systems without O_TMPFILE. The file has a name for a moment. */
static int open_named(const char *dir)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/.spill-XXXXXX", dir) >= (int)sizeof path) return -1;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) (void)unlink(path);
    return fd;
}

static bool write_all(int fd, str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = (str){bytes.p + n, bytes.n - (size_t)n};
    }
    return true;
}

bool spill_open(const char *dir, spill *out, err *e)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) fd = open_named(dir);
    *out = (spill){.fd = fd};
    return fd >= 0 || err_sys(e, errno, "cannot create a file for a large response");
}

bool spill_append(spill *s, str bytes, err *e)
{
    if (!write_all(s->fd, bytes))
        return err_sys(e, errno, "cannot write a large response to a file");
    s->size += bytes.n;
    return true;
}

bool spill_write(const char *dir, str bytes, spill *out, err *e)
{
    if (!spill_open(dir, out, e)) return false;
    if (spill_append(out, bytes, e)) return true;
    spill_close(out);
    return false;
}

bool spill_share(const spill *s, spill *out)
{
    *out = (spill){.fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0), .size = s->size};
    return out->fd >= 0;
}

ssize_t spill_read(const spill *s, uint64_t at, void *p, size_t n)
{
    uint64_t left = at < s->size ? s->size - at : 0;
    if (n > left) n = (size_t)left;
    ssize_t got;
    do got = n ? pread(s->fd, p, n, (off_t)at) : 0;
    while (got < 0 && errno == EINTR);
    return got || !n ? got : -1;
}

void spill_close(spill *s)
{
    if (s->fd >= 0) close(s->fd);
    *s = SPILL_NONE;
}
