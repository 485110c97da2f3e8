/* Processes that outlive the program: daemons, and what a shell left in the background.  `kiln run` ends with the program,
 * as the user expects; a fork of it stays and writes the files again when they have ended. */
#include "cli/run.h"

#include "base/ban.h"
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

static void follow(run *r, void (*write)(run *r))
{
    err e = {0};
    leave_the_user();
    collector_take_over(r->collector);
    if (collector_start(r->collector, &e)) wait_for_them(r);
    run_take_close(r);
    write(r);
}

int run_follow(run *r, void (*write)(run *r))
{
    if (r->live || !collector_pause(r->collector)) return 0;
    pid_t pid = fork();
    if (pid == 0) {
        follow(r, write);
        _exit(0);
    }
    return pid > 0 ? pid : 0;
}
