/* cli/source.h - finding the source file that a profile names, and its lines. */
#pragma once
#include "base/str.h"
#include "sys/file.h"

enum { SOURCE_MAX_BYTES = 64 << 20 };

typedef struct source_text {
    file_bytes file;
    char *path; /* where it was found */
} source_text;

/* Looks for `name` as it stands (if absolute), without the beginnings in `trim`, and with ever fewer
 * leading directories in each directory of `dirs` (both with : between, NULL: none, dirs: "."). */
bool source_find(str name, const char *dirs, const char *trim, source_text *out);
void source_text_close(source_text *s);

/* Line n (from 1) without its end; {NULL, 0} beyond the last.  *at remembers where the search stood:
 * begin with {0}, ask in rising order. */
typedef struct source_at {
    size_t offset;
    int64_t line;
} source_at;
str source_line(const source_text *s, source_at *at, int64_t n);
