/* Follows processes that outlive the program: daemons and background jobs.  `kiln run` ends with
 * the program, as the user expects; a fork of it continues and writes the files again when these
 * processes have ended. */
#include "cli/run.h"
#include "base/time.h"

#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 200 };
#define IDLE_NS (600 * NS_PER_S) /* after this time without a sample, following ends */

/* Detaches from the terminal, the user's pipes and the parent's signals. */
static void detach(int keep, int also)
{
    int low = keep < also ? keep : also, high = keep < also ? also : keep;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = 0; null >= 0 && fd <= 2; fd++) (void)dup2(null, fd);
    if (null > 2) close(null);
    if (low > 3) close_range(3, (unsigned)low - 1, 0);
    if (high > low + 1) close_range(low > 2 ? (unsigned)low + 1 : 3, (unsigned)high - 1, 0);
    close_range((unsigned)high + 1, ~0u, 0);
}

static void wait_for_processes(run *r)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM), sigaddset(&ends, SIGINT), sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    const struct timespec pause = {0, POLL_MS * 1000000};
    do {
        if (sigtimedwait(&ends, NULL, &pause) > 0) break;
    } while (collector_alive(r->collector) && collector_idle(r->collector) < IDLE_NS);
}

/* ---- files ---- */

static run_mark mark_of(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) != 0) return (run_mark){0};
    return (run_mark){(uint64_t)st.st_dev, (uint64_t)st.st_ino, st.st_mtim.tv_sec,
                      st.st_mtim.tv_nsec};
}

void run_follow_go(run *r)
{
    if (!r->follower) return;
    for (size_t i = 0; i < RUN_FILES; i++) r->marks[i] = mark_of(r->followed[i]);
    (void)!write(r->to_follower, r->marks, sizeof r->marks); /* the follower may have ended */
    close(r->to_follower);
}

bool run_is_taken(const run *r, size_t which)
{
    run_mark now = mark_of(r->followed[which]);
    return now.inode && memcmp(&now, &r->marks[which], sizeof now) != 0;
}

/* Waits until the parent has written its files.  The follower must write later, and it removes the
 * directory from which the parent reads parts. */
static void wait_for_parent(run *r, int from)
{
    ssize_t n;
    do n = read(from, r->marks, sizeof r->marks);
    while (n < 0 && errno == EINTR);
    if (n != sizeof r->marks) memset(r->marks, 0, sizeof r->marks);
    close(from);
}

/* ---- follower ---- */

static void follow(run *r, int alive, void (*write)(run *r))
{
    err e = {0};
    detach(collector_fd(r->collector), alive);
    collector_take_over(r->collector);
    if (collector_start(r->collector, &e)) wait_for_processes(r);
    run_capture_close(r);
    wait_for_parent(r, alive);
    write(r);
}

int run_follow(run *r, void (*write)(run *r))
{
    int alive[2];
    if (r->live || !collector_pause(r->collector) || pipe2(alive, O_CLOEXEC) != 0) return 0;
    r->followed[0] = r->output, r->followed[1] = r->html;
    pid_t pid = fork();
    if (pid == 0) {
        close(alive[1]);
        follow(r, alive[0], write);
        _exit(0);
    }
    close(alive[0]);
    r->to_follower = alive[1];
    return pid > 0 ? pid : 0;
}
