/* agent/task.h - what /proc says about the threads of this process.
 *
 * The parsers are pure.  The readers take no memory and leave no descriptor; they read with pread, so
 * that a program that closes descriptors it does not own loses none of its bytes to us. */
#pragma once
#include "base/str.h"
#include <sys/types.h>

enum { TASK_NAME = 64, TASK_WCHAN = 21 };

typedef struct task_stat {
    char state;           /* R S D T t I Z X ... */
    char name[TASK_NAME]; /* UTF-8 without controls, terminated */
    int32_t os_prio;      /* nice; of a real-time policy its priority */
    uint64_t start_ticks; /* since boot */
} task_stat;

/* false: not such a line.  The name may hold anything, parentheses and newlines too: what follows it is
 * found behind the last `)`. */
NODISCARD bool task_stat_parse(str text, task_stat *out);

typedef struct task_status {
    uint64_t blocked;  /* SigBlk: bit n - 1 is signal n */
    uint64_t switches; /* voluntary_ctxt_switches */
    uint64_t seccomp;  /* Seccomp: 0 none, 1 strict, 2 filter; 0 too where the kernel has none */
    uint64_t filters;  /* Seccomp_filters: their number; 0 before Linux 5.9 */
} task_status;

NODISCARD bool task_status_parse(str text, task_status *out);

/* Whether a filter of system calls was added since `before`.  Containers have one from the start. */
bool task_status_filtered(const task_status *now, const task_status *before);

/* The line of a thread that waits in the kernel; false for one that runs.  */
typedef struct task_wait {
    uint64_t hash; /* of the whole line: call and arguments */
    uint64_t sp, pc;
} task_wait;

NODISCARD bool task_wait_parse(str text, task_wait *out);

/* tid/schedstat: ns that the thread has run; 0: not such a line. */
uint64_t task_schedstat_parse(str text);

/* Controls and what is not UTF-8 become '?'. */
void task_name_clean(str raw, char out[TASK_NAME]);

/* ---- reading ---- */

/* Opens /proc/self/task for the following.  -1: errno says why. */
int task_open(void);

/* The threads in ascending order, at most max; false: /proc does not say.  *more: there were more. */
NODISCARD bool task_list(int dir, uint32_t *tids, size_t max, size_t *n, bool *more);

/* tid/file into buf; an empty view when it cannot be read. */
str task_read(int dir, uint32_t tid, const char *file, char *buf, size_t n);

/* CPU time of a thread of this process so far, ns; 0: it is gone. */
uint64_t task_cpu(uint32_t tid);

/* CPU time of all threads of any process so far, ns; 0: it is gone. */
uint64_t task_cpu_process(uint32_t pid);
clockid_t task_clock(uint32_t tid);
