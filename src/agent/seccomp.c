/* Compares the seccomp filters of threads with those at the start of the agent. */
#include "agent/seccomp.h"

#include "agent/threads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/ban.h"

static task_status at_start;
static bool known;
static _Atomic bool seen;

enum { STATUS_BYTES = 4096 };

/* Reads the filters of the calling thread.  Uses only calls that the loader has just made, because
 * a filter under which the process was started permits them. */
static bool read_own(task_status *out)
{
    char buf[STATUS_BYTES];
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, buf, sizeof buf);
    close(fd);
    return n > 0 && task_status_parse((str){buf, (size_t)n}, out);
}

static bool parse(const char *text, task_status *out)
{
    *out = (task_status){0};
    return text && sscanf(text, "%" SCNu64 " %" SCNu64, &out->seccomp, &out->filters) == 2;
}

bool seccomp_open(const char *outside)
{
    task_status before;
    if (!known) known = read_own(&at_start);
    return parse(outside, &before) && task_status_filtered(&at_start, &before);
}

bool seccomp_added(const task_status *s)
{
    if (!task_status_filtered(s, &at_start)) return false;
    atomic_store(&seen, true);
    return true;
}

void seccomp_check(int dir, const uint32_t *tids, size_t n)
{
    char buf[STATUS_BYTES];
    task_status s;
    for (size_t i = 0; i < n; i++) {
        thread_record *t = thread_find(tids[i]);
        uint64_t cpu = task_cpu(tids[i]);
        if (!t || t->own || t->filter_cpu == cpu) continue;
        t->filter_cpu = cpu;
        if (task_status_parse(task_read(dir, tids[i], "status", buf, sizeof buf), &s) &&
            seccomp_added(&s))
            return;
    }
}

bool seccomp_seen(void) { return atomic_load(&seen); }

bool seccomp_here(void) { return !at_start.seccomp && prctl(PR_GET_SECCOMP) != 0; }
