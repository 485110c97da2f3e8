/* sys/temp.h - a directory for files that nobody will miss.
 *
 * One a process, because a signal that ends us must find it: from open to close SIGHUP, SIGINT, SIGQUIT and
 * SIGTERM (unless they are ignored) first remove it, then do what they do. */
#pragma once
#include "base/err.h"

/* $TMPDIR/NAME.XXXXXX (or /tmp), for us alone; the path is absolute and stays valid until temp_close.  NULL: `e`. */
NODISCARD const char *temp_open(const char *name, err *e);

/* A file elsewhere that goes with the directory, and its own directory unless that is NULL; one, and the paths are copied.  Ignored when
 * they are too long. */
void temp_also(const char *path, const char *dir);

/* Removes the files in it, then itself; directories inside are not ours and stay. */
void temp_close(void);

/* Forgets it: another process (a fork of this one) removes it.  Signals do what they did before. */
void temp_leave(void);
