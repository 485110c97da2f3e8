/* store/journal_file.h - what writer and readers of the journal share: names, headers, checksums. */
#pragma once
#include "store/journal.h"

enum { JOURNAL_PATH = 4096, JOURNAL_MAGIC = 0x4345524b /* "KREC" */ };

void segment_path(const char *dir, uint32_t number, char out[JOURNAL_PATH]);
void segment_header(const journal_segment *s, char out[JOURNAL_HEADER]);
NODISCARD bool segment_parse(const char head[JOURNAL_HEADER], journal_segment *out);

typedef struct segment_list {
    journal_segment *v; /* by number; malloc'ed; `end` is the size of the file */
    size_t n, cap;
} segment_list;

/* Segments with a good header that says what their name says, or with one that the manifest has a copy of (`bad`); others are no
 * longer, or not yet, part of the journal. */
NODISCARD bool segments_list(sqlite3_vfs *vfs, const char *dir, segment_list *out, err *e);

/* Fills in magic and check of a record's header. */
void record_seal(char *head);
/* Is this the header of a record of the segment? */
bool record_fits(const char *head, uint64_t salt);

/* For who removes a segment or writes over it: nobody reads it, and nobody begins to until segment_unclaim.  -1: somebody does, or
 * there is no such file. */
int segment_claim(const char *dir, uint32_t number);
void segment_unclaim(int fd);
