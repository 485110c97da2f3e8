/* agent/task.h - the files of /proc about the threads of this process.
 *
 * The parsers are pure.  The readers do not allocate and close their descriptors.  They use pread:
 * if the program has closed the descriptor and reused its number, the program's file position does
 * not change. */
#pragma once
#include "base/str.h"
#include <sys/types.h>

enum { TASK_NAME = 64, TASK_WCHAN = 21 };

typedef struct task_stat {
    char state;           /* R S D T t I Z X ... */
    char name[TASK_NAME]; /* UTF-8 without control characters, terminated */
    int32_t os_prio;      /* nice value, or the priority of a real-time policy */
    uint64_t start_ticks; /* since boot */
} task_stat;

/* Returns false when the text is not a stat line.  The name may contain anything, including
 * parentheses and newlines; the other fields follow the last `)`. */
NODISCARD bool task_stat_parse(str text, task_stat *out);

typedef struct task_status {
    uint64_t blocked;  /* SigBlk: bit n - 1 is signal n */
    uint64_t switches; /* voluntary_ctxt_switches */
    uint64_t seccomp; /* Seccomp: 0 none, 1 strict, 2 filter; 0 if the kernel does not support it */
    uint64_t filters; /* Seccomp_filters: number of filters; 0 before Linux 5.9 */
} task_status;

NODISCARD bool task_status_parse(str text, task_status *out);

/* Returns whether a seccomp filter was added since `before`; containers start with one. */
bool task_status_filtered(const task_status *now, const task_status *before);

/* The syscall line of a waiting thread; the parser returns false for a running one. */
typedef struct task_wait {
    uint64_t hash; /* of the whole line: call and arguments */
    uint64_t sp, pc;
} task_wait;

NODISCARD bool task_wait_parse(str text, task_wait *out);

/* Returns the ns that the thread has run, from tid/schedstat; 0 for an invalid line. */
uint64_t task_schedstat_parse(str text);

/* Replaces control characters and invalid UTF-8 with '?'. */
void task_name_clean(str raw, char out[TASK_NAME]);

/* ---- reading ---- */

/* Opens /proc/self/task for the functions below.  Returns -1 and sets errno on failure. */
int task_open(void);

/* Lists the threads in ascending order, at most max.  Sets *more when there are more.  Returns
 * false when /proc cannot be read. */
NODISCARD bool task_list(int dir, uint32_t *tids, size_t max, size_t *n, bool *more);

/* Reads tid/file into buf; returns an empty view when it cannot be read. */
str task_read(int dir, uint32_t tid, const char *file, char *buf, size_t n);

/* Returns the CPU time of a thread of this process in ns; 0 when it has ended. */
uint64_t task_cpu(uint32_t tid);

/* Returns the CPU time of all threads of any process in ns; 0 when it has ended. */
uint64_t task_cpu_process(uint32_t pid);
clockid_t task_clock(uint32_t tid);
