/* store/saved.h - short texts under names: a file of a store, such as DIR/saved with the selections
 * that people saved, or DIR/settings with the settings of Pyroscope's clients.
 *
 *   kiln saved 1
 *   <Unix ns of the last change> <tab> <name> <tab> <link>
 *   seal <XXH3 of the lines before>
 *
 * Each change writes the whole file as FILE.next, syncs it and renames it, so that a crash leaves
 * the list before or after the change.  Callable from any thread; calls of one list wait for each
 * other. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum { SAVED_MAX = 1000, SAVED_NAME = 200, SAVED_LINK = 4096 };

typedef struct saved saved;

typedef struct saved_entry {
    str name; /* UTF-8 without control characters, at most SAVED_NAME bytes, unique */
    str link; /* query and fragment of the page's address, visible ASCII, at most SAVED_LINK */
    uint64_t changed; /* Unix ns */
} saved_entry;

typedef VEC(saved_entry) saved_entries;

/* Reads the list in `file` of the directory; the name must outlive the list.  A damaged file is
 * renamed to FILE.corrupt, *damaged is set, and the list is empty.  ERR_SYS. */
NODISCARD saved *saved_open(const char *dir, const char *file, bool *damaged, err *e);
void saved_close(saved *s);

/* Lists the entries by name. */
NODISCARD bool saved_list(saved *s, arena *a, saved_entries *out, err *e);

/* The changes are durable when they return true.  ERR_USAGE: an invalid name or link; ERR_MISMATCH:
 * the name is taken, or the list is full; ERR_UNSUPPORTED: no entry has the name; ERR_SYS. */
/* Adds an entry; with `replace`, it may replace one of the same name. */
NODISCARD bool saved_put(saved *s, str name, str link, bool replace, uint64_t now, err *e);
NODISCARD bool saved_rename(saved *s, str from, str to, uint64_t now, err *e);
NODISCARD bool saved_remove(saved *s, str name, err *e);
