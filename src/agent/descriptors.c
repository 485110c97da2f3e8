/* Gives the agent's threads their own descriptor table (CLOSE_RANGE_UNSHARE), and opens the
 * program's stderr from such a thread. */
#include "agent/descriptors.h"

#include "base/ban.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* any_own: some thread has its own table.  Threads that it starts share that table without having
 * `mine` set, such as the exporter, which also prints. */
static _Atomic bool any_own;
static _Thread_local bool mine;

void descriptors_own(void)
{
    if (syscall(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0) return;
    /* In the new table, descriptors 0 to 2 refer to /dev/null. */
    for (int fd = open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0 && fd < STDERR_FILENO;)
        fd = dup(fd);
    mine = true;
    atomic_store(&any_own, true);
}

bool descriptors_mine(void) { return mine; }

bool descriptors_apart(void) { return atomic_load(&any_own); }

/* Returns -1 for regular files: a second open would overwrite the content from offset 0. */
static int open_by_name(void)
{
    static const char name[] =
        "/proc/self/fd/2"; /* /proc/self is the main thread, with the program's table */
    struct stat st;
    if (stat(name, &st) != 0 || S_ISREG(st.st_mode)) return -1;
    return open(name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int descriptors_stderr(void)
{
    if (!atomic_load(&any_own)) return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);
    if (process >= 0) close(process);
    return fd >= 0 ? fd : open_by_name();
}
