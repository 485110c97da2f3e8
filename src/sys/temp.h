/* sys/temp.h - a directory for temporary files.
 *
 * A process has at most one, because the signal handlers must find it.  Between open and close,
 * SIGHUP, SIGINT, SIGQUIT and SIGTERM (unless ignored) first remove the directory and then have
 * their usual effect. */
#pragma once
#include "base/err.h"

/* Creates $TMPDIR/NAME.XXXXXX (or in /tmp), accessible to this user only.  Returns the absolute
 * path, which is valid until temp_close; NULL on failure, with the reason in `e`. */
NODISCARD const char *temp_open(const char *name, err *e);

/* Registers one file elsewhere that is removed with the temporary directory, and the directory
 * `dir` of that file unless it is NULL.  Copies the paths; ignores paths that are too long. */
void temp_also(const char *path, const char *dir);

/* Removes the files in the directory and the directory itself.  Subdirectories stay. */
void temp_close(void);

/* Forgets the directory, which a fork of this process removes.  Restores the signals. */
void temp_leave(void);
