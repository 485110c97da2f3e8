/* Opens files by openat2, which resolves links below a directory.  The first open does not open the
 * file itself (O_PATH), because opening a pipe or a device has effects.  The second one names the
 * descriptor by /proc/thread-self: the agent's thread has a descriptor table of its own. */
#include "sys/rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

/* Before Linux 5.6, absolute links are resolved in kiln's own root. */
static int open_below_old(const char *root, const char *path)
{
    char name[8192];
    int n = snprintf(name, sizeof name, "%s/%s", root, path);
    if (n < 0 || (size_t)n >= sizeof name) return errno = ENAMETOOLONG, -1;
    return open(name, O_PATH | O_CLOEXEC);
}

static int open_below(const char *root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return -1;
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how), why = errno;
    close(dir);
    errno = why;
    return fd < 0 && (why == ENOSYS || why == EPERM) ? open_below_old(root, path) : fd;
}

int rooted_find(const char *root, const char *path, struct stat *st, err *e)
{
    int fd = root ? open_below(root, path) : open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return err_sys(e, errno, "cannot open"), -1;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode)) return fd;
    close(fd);
    return err_sys(e, EINVAL, "not a regular file"), -1;
}

bool rooted_read(int found, const struct stat *st, size_t max_bytes, file_bytes *out, err *e)
{
    char name[64];
    *out = (file_bytes){0};
    snprintf(name, sizeof name, "/proc/thread-self/fd/%d", found);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok = fd >= 0 || err_sys(e, errno, "cannot open");
    ok = ok && file_read_part(fd, st, max_bytes, out, e);
    if (fd >= 0) close(fd);
    close(found);
    return ok;
}

bool rooted_read_path(const char *root, const char *path, size_t max_bytes, file_bytes *out, err *e)
{
    struct stat st;
    *out = (file_bytes){0};
    int found = rooted_find(root, path, &st, e);
    if (found < 0) return false;
    if (!root && access("/proc/thread-self/fd", F_OK) != 0) { /* a chroot without /proc */
        close(found);
        return file_read_regular(path, max_bytes, out, e);
    }
    return rooted_read(found, &st, max_bytes, out, e);
}
