/* store/manifest.h - the list of files that a store must have, so that a missing, truncated or
 * replaced file is noticed.
 *
 *   DIR/manifest      text, replaced as a whole (written to another file and renamed):
 *
 *   kiln manifest 1
 *   through 1234                                                 the last compacted number
 *   file 2026-11-15.0.db ID THROUGH SAMPLES PROFILES FIRST LAST  a day file; it has at least this
 *   lost 2026-11-14.0.db ID THROUGH SAMPLES PROFILES FIRST LAST  a damaged or missing day file
 *   segment 7 SALT FIRST                                         header of a journal segment
 *   durable 1250                                                 the last acknowledged number
 *   items 12                                                     items lost with segments
 *   seal 0123456789abcdef                                        XXH3 of the lines
 *
 * The line of a file or segment is written after the file is created, and removed before the file
 * is removed. So a line without its file means damage, and a file without a line was left by a
 * process that died. */
#pragma once
#include "store/day.h"
#include "store/journal.h"

typedef struct manifest_file {
    day_name name;
    uint64_t id; /* meta.id; 0: written by 0.1.0 */
    uint64_t through, samples, profiles, first, last;
    bool lost;
} manifest_file;

typedef struct manifest_segment {
    uint32_t number;
    uint64_t salt, first_seq;
} manifest_segment;

/* The zero value is an empty manifest. */
typedef struct manifest {
    bool there; /* the file exists */
    uint64_t through;
    uint64_t durable;    /* items up to at least this number were acknowledged */
    uint64_t lost_items; /* acknowledged items that are missing and not compacted */
    manifest_file *files;
    size_t n_files, cap_files;
    manifest_segment *segments; /* by number */
    size_t n_segments, cap_segments;
    uint64_t inode, changed; /* identify the file that was loaded */
} manifest;

void manifest_free(manifest *m);

/* Loads the file, unless it is unchanged since the last load. *m becomes empty when there is no
 * file, or when it is damaged (ERR_MALFORMED). */
NODISCARD bool manifest_load(manifest *m, const char *dir, err *e);
/* Replaces the file. With `sync` it is durable on return. */
NODISCARD bool manifest_save(manifest *m, sqlite3_vfs *vfs, const char *dir, bool sync, err *e);

/* Returns the line of a file that should exist, or NULL. */
manifest_file *manifest_find(const manifest *m, day_name name);
/* Adds a line, or replaces the one with the same name. Returns false when out of memory. */
NODISCARD bool manifest_put(manifest *m, const manifest_file *f);
void manifest_drop(manifest *m, size_t i);

NODISCARD bool manifest_put_segment(manifest *m, const manifest_segment *s);
const manifest_segment *manifest_find_segment(const manifest *m, uint32_t number);
/* Removes the lines of segments whose records are all <= through (`next`: the number after the last
 * record). Returns whether there were any. */
bool manifest_release(manifest *m, uint64_t through, uint64_t next);

/* Sets *out to the counts that the day file contains. ERR_MALFORMED: the file is damaged. */
NODISCARD bool manifest_facts(database *d, day_name name, manifest_file *out, err *e);
/* Checks that `now` is the file of the line and has at least the counts of the line. */
NODISCARD bool manifest_holds(const manifest_file *entry, const manifest_file *now, err *e);
