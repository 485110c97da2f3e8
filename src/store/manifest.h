/* store/manifest.h - the record of the files that a store must hold, so that a missing, cut or replaced one is noticed.
 *
 *   DIR/manifest      text, replaced whole (written beside and renamed), sealed by the XXH3 of its lines:
 *
 *   kiln manifest 1
 *   through 1234                                                 the highest number that was compacted
 *   file 2026-11-15.0.db ID THROUGH SAMPLES PROFILES FIRST LAST  a day file: it holds at least that
 *   lost 2026-11-14.0.db ID THROUGH SAMPLES PROFILES FIRST LAST  one that is damaged or gone: responses lack it
 *   segment 7 SALT FIRST                                         of the journal, not yet compacted: its header
 *   durable 1250                                                 the highest number that was acknowledged by then
 *   items 12                                                     lost with segments of the journal
 *   seal 0123456789abcdef
 *
 * Order: a file or segment is there before its line, and its line goes before the file does.  So a line without its file is
 * damage, and a file without a line is what a process left that died. */
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

/* The zero value is an empty one. */
typedef struct manifest {
    bool there; /* there is a file */
    uint64_t through;
    uint64_t durable;    /* at least through this number items were acknowledged */
    uint64_t lost_items; /* of the journal: acknowledged, not compacted, and gone */
    manifest_file *files;
    size_t n_files, cap_files;
    manifest_segment *segments; /* by number */
    size_t n_segments, cap_segments;
    uint64_t inode, changed; /* of the file that was loaded */
} manifest;

void manifest_free(manifest *m);

/* Takes up the file, unless it is the one that was loaded last.  Without one *m is empty.  ERR_MALFORMED: it is damaged, and *m is empty. */
NODISCARD bool manifest_load(manifest *m, const char *dir, err *e);
/* `sync`: durable on return. */
NODISCARD bool manifest_save(manifest *m, sqlite3_vfs *vfs, const char *dir, bool sync, err *e);

/* The line of a file that should be there; NULL: none. */
manifest_file *manifest_find(const manifest *m, day_name name);
/* Adds the line, or replaces that of the same name.  false: no memory. */
NODISCARD bool manifest_put(manifest *m, const manifest_file *f);
void manifest_drop(manifest *m, size_t i);

NODISCARD bool manifest_put_segment(manifest *m, const manifest_segment *s);
const manifest_segment *manifest_find_segment(const manifest *m, uint32_t number);
/* Drops the segments whose records are all <= through (`next`: the number behind the last one); true: there were some. */
bool manifest_release(manifest *m, uint64_t through, uint64_t next);

/* What the day file says of itself.  ERR_MALFORMED when it is damaged. */
NODISCARD bool manifest_facts(database *d, day_name name, manifest_file *out, err *e);
/* Is it the file of the line, with at least what the line says? */
NODISCARD bool manifest_holds(const manifest_file *entry, const manifest_file *now, err *e);
