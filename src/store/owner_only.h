/* store/owner_only.h - profiles show what programs do and how they are called: files of a store are their owner's alone, whatever the
 * umask says. */
#pragma once
#include "base/compiler.h"

/* Makes the file, empty, with mode 0600 if it is not there: SQLite would make it with 0644.  Whoever opens it next says what is wrong
 * when it cannot be made. */
void owner_only_make(const char *path);

/* A store of an older kiln, or one that was copied: its files become 0600 and its directory, if nothing else is in it, 0700.  Files of
 * somebody else stay as they are. */
void owner_only_tighten(const char *dir);
