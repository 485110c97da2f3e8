/* store/journal_file.h - the format of journal files, shared by the writer and the readers: names,
 * headers, checksums. */
#pragma once
#include "store/journal.h"

enum { JOURNAL_PATH = 4096, JOURNAL_MAGIC = 0x4345524b /* "KREC" */ };

void segment_path(const char *dir, uint32_t number, char out[JOURNAL_PATH]);
void segment_header(const journal_segment *s, char out[JOURNAL_HEADER]);
NODISCARD bool segment_parse(const char head[JOURNAL_HEADER], journal_segment *out);

typedef struct segment_list {
    journal_segment *v; /* sorted by number; malloc'ed; `end` is the size of the file */
    size_t n, cap;
} segment_list;

/* Lists the segments with a valid header that matches the file name, or whose header is damaged but
 * copied in the manifest (`bad`). Other files are not part of the journal yet, or any more. */
NODISCARD bool segments_list(sqlite3_vfs *vfs, const char *dir, segment_list *out, err *e);

/* Fills in magic and checksum of a record's header. */
void record_seal(char *head);
/* Returns whether this is a valid header of a record of the segment with this salt. */
bool record_fits(const char *head, uint64_t salt);

/* Locks a segment before it is removed or overwritten: no process reads it until segment_unclaim.
 * Returns -1 when a reader has it locked or the file is missing. */
int segment_claim(const char *dir, uint32_t number);
void segment_unclaim(int fd);
