/* agent/seccomp.h - notices seccomp filters that the program has installed.
 *
 * A filter of the program does not list the agent's system calls, and may even forbid the return
 * from a signal handler.  interpose_privilege.c and interpose_syscall.c stop the capture before
 * libc's functions install a filter.  A filter that the program installs with a direct system call
 * is found later, in /proc (docs/capture.md).
 *
 * Filters are compared with those at the start: a container has one from the start, and it permits
 * the agent's calls. */
#pragma once
#include "agent/task.h"
#include <linux/seccomp.h>

/* Set by `kiln run`: mode and number of its own filters, "2 1". */
#define SECCOMP_VARIABLE "KILN_SECCOMP"

/* The first call records the filters of the calling thread.  `outside` is the value of
 * SECCOMP_VARIABLE, or NULL.  Returns true when the process has more filters than `outside`:
 * another program installed them before it started this one. */
bool seccomp_open(const char *outside);

/* Returns whether the thread with this status has got a filter since the start; if so, seccomp_seen
 * returns true from now on. */
bool seccomp_added(const task_status *s);

/* Checks the threads that have run since the last check. */
void seccomp_check(int dir, const uint32_t *tids, size_t n);

bool seccomp_seen(void);

/* Return whether prctl(PR_SET_SECCOMP, mode, program) and seccomp(operation, flags, program) may
 * install a filter.  Browsers call both without a program, to find out whether the kernel supports
 * them. */
static inline bool seccomp_by_prctl(unsigned long mode, unsigned long program)
{
    return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && program);
}
static inline bool seccomp_by_syscall(unsigned long operation, unsigned long program)
{
    return operation == SECCOMP_SET_MODE_STRICT ||
           (operation == SECCOMP_SET_MODE_FILTER && program);
}

/* Returns whether the calling thread has a filter that did not exist at the start.  Always false in
 * a container, because no cheap call can find this out there. */
bool seccomp_here(void);
