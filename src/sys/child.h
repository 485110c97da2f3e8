/* sys/child.h - runs a program in the foreground as if it had been started without kiln.
 *
 * The program has kiln's descriptors, terminal and process group, so that the terminal treats both
 * alike.  While it runs, kiln handles signals by their origin:
 *   from the terminal (^C, ^\, ^Z, a new size)   ignored: the program got the same signal
 *   from another process, to kiln                forwarded to the program
 *   the program stopped, at a terminal           kiln stops too; when resumed, it resumes the program
 * A signal that a process sends to the whole group reaches the program twice, because the two cases
 * cannot be distinguished. */
#pragma once
#include "base/err.h"
#include <sys/resource.h>

/* What a program inherits from the process that starts it, and kiln may change for itself. */
typedef struct child_settings {
    uint64_t ignored;    /* signals that are ignored: bit N - 1 is signal N */
    struct rlimit files; /* number of open files */
} child_settings;

typedef struct child_opts {
    const char *path;
    const char *const *argv, *const *envp; /* terminated by NULL */
    child_settings settings; /* of the program at its start, from child_settings_now */
    /* Before exec, the child writes its process id (int) to `announce` and reads one byte from
     * `gate`: 0, or 1 to end without exec, which fails with ECANCELED.  Another thread has to
     * answer, because the caller waits for the exec. */
    bool gated;
    int announce, gate;
    /* If not NULL, called once, due_ns after the start, while the program runs.  Signals wait until
     * it returns. */
    void (*due)(void *ctx);
    void *ctx;
    uint64_t due_ns;
} child_opts;

typedef struct child_end {
    int pid;
    int status;        /* as from wait(2) */
    uint64_t start_ns; /* Unix time */
    /* real time; CPU time of the program and of the processes that it waited for */
    uint64_t run_ns, cpu_ns;
} child_end;

/* Returns the settings of this process.  When called first in main, these are the settings that the
 * program would inherit without kiln. */
child_settings child_settings_now(void);

/* Runs the program to its end.  Fails with ERR_SYS when it could not be started; ENOENT, EACCES …
 * as execve(2).  A file that is not a program (ENOEXEC) is passed to /bin/sh, as execvp(3) does. */
NODISCARD bool child_run(const child_opts *o, child_end *out, err *e);

/* Ends this process with the signal in `status`, without a core file of this process.  Returns when
 * the status is not a signal, or the signal does not end a process. */
void child_die_by_signal(int status);
