/* agent/filters.h - notices filters of system calls (seccomp) that the program has installed.
 *
 * Our system calls are in no filter of the program, and a filter may even forbid to return from a signal handler.
 * interpose_privilege.c and interpose_syscall.c end the capture before libc's functions install one.  A filter
 * that the program installs by an instruction of its own is seen afterwards, in /proc (docs/capture.md).
 *
 * Filters are compared with those at the start: in a container there is one already, and it lets us work. */
#pragma once
#include "agent/task.h"
#include <linux/seccomp.h>

/* Set by `kiln run`: mode and number of its own filters, "2 1". */
#define FILTERS_VARIABLE "KILN_SECCOMP"

/* Remembers the filters of the calling thread, at the first call.  `outside` is the value of FILTERS_VARIABLE, or NULL.  true: the process has
 * more filters than `outside` says.  So a program has installed them before it started this one. */
bool filters_open(const char *outside);

/* Whether the thread of which this is the status has got a filter since the start; if so, filters_seen holds from now on. */
bool filters_added(const task_status *s);

/* Looks at those of the threads that have run since the last look. */
void filters_look(int dir, const uint32_t *tids, size_t n);

bool filters_seen(void);

/* Whether prctl(PR_SET_SECCOMP, mode, program) and seccomp(operation, flags, program) may install a filter.  Browsers call both
 * without a program, to find out whether the kernel knows them. */
static inline bool filters_by_prctl(unsigned long mode, unsigned long program)
{
    return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && program);
}
static inline bool filters_by_seccomp(unsigned long operation, unsigned long program)
{
    return operation == SECCOMP_SET_MODE_STRICT ||
           (operation == SECCOMP_SET_MODE_FILTER && program);
}

/* Whether the calling thread has a filter that was not there at the start; false in a container, where that is not to be told by
 * one cheap call. */
bool filters_here(void);
