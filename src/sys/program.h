/* sys/program.h - finds the file of a command, as a shell does, and its extra privileges. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* Privileges that running the program would add; with any, the loader ignores LD_PRELOAD. */
typedef enum program_gain {
    PROGRAM_GAINS_NOTHING,
    PROGRAM_GAINS_USER,  /* setuid to another user */
    PROGRAM_GAINS_GROUP, /* setgid */
    PROGRAM_GAINS_POWERS /* file capabilities */
} program_gain;

/* Sets *path to the path of a command: the name itself if it contains a slash, otherwise the first
 * executable in $PATH.  Fails with ERR_SYS: ENOENT when there is none, EACCES when it is not
 * executable. */
NODISCARD bool program_find(const char *name, arena *a, const char **path, err *e);

/* Returns whether this process may execute the file; otherwise ERR_SYS, as program_find. */
NODISCARD bool program_runnable(const char *path, err *e);

/* Returns the gain of a program; PROGRAM_GAINS_NOTHING also where the mount or the process forbids
 * it (nosuid, no_new_privs). */
program_gain program_gains(const char *path);

/* Stores the path of this program; "" without /proc. */
void program_self(char *path, size_t n);
