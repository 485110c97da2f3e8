/* Processes that outlive the program: daemons, and what a shell left in the background.  `kiln run` ends with the program,
 * as the user expects; a fork of it stays and writes the files again when they have ended. */
#include "cli/run.h"

#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 200 };
#define IDLE_NS (600 * UINT64_C(1000000000)) /* without a sample: they only sit there */

/* Nothing of the terminal, of the user's pipes or of our parent's signals. */
static void leave_the_user(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = 0; null >= 0 && fd <= 2; fd++) (void)dup2(null, fd);
    if (null > 2) close(null);
}

static void wait_for_them(run *r)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM), sigaddset(&ends, SIGINT), sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    const struct timespec a_while = {0, LOOK_MS * 1000000};
    do {
        if (sigtimedwait(&ends, NULL, &a_while) > 0) break;
    } while (collector_alive(r->collector) && collector_idle(r->collector) < IDLE_NS);
}

/* Until the parent has written its files and has ended: ours have to come later, and it reads parts from the directory that
 * we remove. */
static void wait_for_parent(int alive)
{
    char c;
    while (read(alive, &c, 1) < 0 && errno == EINTR) continue;
    close(alive);
}

static void follow(run *r, int alive, void (*write)(run *r))
{
    err e = {0};
    leave_the_user();
    collector_take_over(r->collector);
    if (collector_start(r->collector, &e)) wait_for_them(r);
    run_take_close(r);
    wait_for_parent(alive);
    write(r);
}

int run_follow(run *r, void (*write)(run *r))
{
    int alive[2]; /* the parent's end closes when it ends */
    if (r->live || !collector_pause(r->collector) || pipe2(alive, O_CLOEXEC) != 0) return 0;
    pid_t pid = fork();
    if (pid == 0) {
        close(alive[1]);
        follow(r, alive[0], write);
        _exit(0);
    }
    close(alive[0]);
    return pid > 0 ? pid : 0;
}
