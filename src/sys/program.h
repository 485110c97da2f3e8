/* sys/program.h - the file behind a command, as a shell finds it and as the kernel would run it. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* What running it would give beyond what we have; the loader then ignores LD_PRELOAD. */
typedef enum program_gain {
    PROGRAM_GAINS_NOTHING,
    PROGRAM_GAINS_USER,  /* setuid to somebody else */
    PROGRAM_GAINS_GROUP, /* setgid */
    PROGRAM_GAINS_POWERS /* file capabilities */
} program_gain;

/* The path of a command: itself when it has a slash, otherwise the first in $PATH that can be run.
 * ERR_SYS: ENOENT when there is none, EACCES when what there is cannot be run. */
NODISCARD bool program_find(const char *name, arena *a, const char **path, err *e);

/* May `path` be run by us: a file, with the right to execute?  ERR_SYS as above. */
NODISCARD bool program_runnable(const char *path, err *e);

/* Nothing too where the mount or the process forbids to gain anything (nosuid, no_new_privs). */
program_gain program_gains(const char *path);

/* Our own file; "" when /proc is not there. */
void program_self(char *path, size_t n);
