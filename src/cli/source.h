/* cli/source.h - finds the source file that a profile names, and reads its lines. */
#pragma once
#include "base/str.h"
#include "sys/file.h"

enum { SOURCE_MAX_BYTES = 64 << 20 };

typedef struct source_text {
    file_bytes file;
    char *path; /* where it was found */
} source_text;

/* Searches for `name` unchanged if it is absolute.  Then removes a prefix listed in `trim` and
 * searches in each directory of `dirs`, dropping one leading directory after the other.  Both lists
 * are separated by `:`; dirs NULL means ".". */
bool source_find(str name, const char *dirs, const char *trim, source_text *out);
/* The same without trying an absolute path unchanged. */
bool source_find_below(str name, const char *dirs, const char *trim, source_text *out);
void source_text_close(source_text *s);

/* Returns line n (from 1) without its line ending, or {NULL, 0} past the last.  *at caches the
 * position: start with {0} and call with ascending n. */
typedef struct source_at {
    size_t offset;
    int64_t line;
} source_at;
str source_line(const source_text *s, source_at *at, int64_t n);
