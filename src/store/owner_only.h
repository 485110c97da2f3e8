/* store/owner_only.h - file permissions. Profiles show what programs do, so only the owner may
 * access the files of a store, whatever the umask is. */
#pragma once
#include "base/compiler.h"

/* Creates an empty file with mode 0600 unless it exists: SQLite would create it with 0644. Errors
 * are ignored here: opening the file reports them. */
void owner_only_make(const char *path);

/* Restricts the modes of a store that an older kiln wrote or that was copied: 0600 for its files,
 * and 0700 for its directory unless that has other files. Files of other users stay as they are. */
void owner_only_tighten(const char *dir);
