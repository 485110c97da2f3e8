/* sys/child.h - a program that we start, stand in front of and outlive.
 *
 * It has our descriptors, our terminal and our process group, so that the terminal treats both alike.
 * While it runs, signals are taken one by one:
 *   from the terminal (^C, ^\, ^Z, a new size)   it got the same one: nothing to do
 *   from another process, to us                  passed on
 *   it stopped, and we have a terminal           we stop, so that the shell sees it; woken, we wake it
 * A process that sends to our whole group reaches it twice: who sent to whom cannot be told. */
#pragma once
#include "base/err.h"

typedef struct child_opts {
    const char *path;
    const char *const *argv, *const *envp; /* terminated by NULL */
    uint64_t
        ignored; /* the signals that the program starts with ignored, as child_ignored returns them */
} child_opts;

typedef struct child_end {
    int pid;
    int status;              /* as wait(2) has it */
    uint64_t start_ns;       /* Unix time */
    uint64_t run_ns, cpu_ns; /* real time; CPU time of it and of those it waited for */
} child_end;

/* The signals that this process ignores: bit N - 1 is signal N.  Asked first in main, it is the set that the
 * program would have inherited without us. */
uint64_t child_ignored(void);

/* Runs it to its end.  ERR_SYS: it could not be started; ENOENT, EACCES ... as execve(2).  A file that is no
 * program (ENOEXEC) is given to /bin/sh, as execvp(3) does. */
NODISCARD bool child_run(const child_opts *o, child_end *out, err *e);

/* Ends us as it ended: by the same signal, without a core file of ours; returns when it was no signal, or
 * the signal does not end a process. */
void child_die_alike(int status);
