/* store/journal.h - the journal: acknowledged items that wait for compaction, as records in
 * segments. Records are written in groups, with one sync for each group.
 *
 *   DIR/raw-00000007.log     [header | record | record | ...]     the newest segment is appended to
 *   header  64 bytes: "KILNRAW1", u32 number, u32 0, u64 salt, u64 first_seq, 24 bytes 0,
 *           u64 XXH3 of the bytes before it
 *   record  u32 "KREC", u32 low half of the XXH3 of the header's other bytes, u64 seq, u64 salt,
 *           u64 length, u64 XXH3 of the bytes; then the bytes, padded to 8
 *
 * (1) Sequence numbers increase by one. The valid records of a segment are [first_seq, first_seq of
 * the next segment). Records with higher numbers belong to a group that could not be synced and was
 * never acknowledged.
 * (2) A record is valid only if it has the salt of its segment. Segment files are reused, because
 * overwriting allocated blocks is cheaper; records of the previous use have another salt.
 * (3) A record begins right after the previous one, or at the next multiple of JOURNAL_EVEN, so
 * that groups can be written without a copy in the kernel. The bytes between are zeros or old data.
 * (4) The header is written before the records. If a reader finds the header unchanged after
 * reading a record, the record was valid. */
#pragma once
#include "store/journal_group.h"
#include "store/vfile.h"
#include "net/world.h"

#define JOURNAL_SEGMENT (UINT64_C(16) << 20) /* maximum and default */
#define JOURNAL_SEGMENT_MIN (UINT64_C(256) << 10)
#define JOURNAL_RESERVE (UINT64_C(1) << 20) /* reserved on disk when a segment begins */
enum { JOURNAL_HEADER = 64, JOURNAL_SPARES = 4 };

typedef struct journal_segment {
    uint32_t number;
    uint64_t salt, first_seq;
    uint64_t end;  /* bytes written */
    uint64_t size; /* of the file; a reused file may be larger than `end` */
    bool spare;    /* all its records were compacted: it may be overwritten */
    bool listed;   /* `began` was called for it */
    bool bad;      /* its header is damaged; these values come from the manifest */
} journal_segment;

typedef struct journal {
    sqlite3_vfs *vfs;
    const char *dir;
    const world *world;
    bool no_sync;
    uint64_t segment;   /* size of a segment; set by journal_open; the caller may change it */
    journal_segment *v; /* by number */
    size_t n, cap;
    vfile *f; /* newest segment; NULL: the next write begins a new one */
    uint64_t next_seq;
    void (*began)(void *ctx,
                  /* called when the first records of a segment are durable */
                  const journal_segment *s);
    void *ctx;
} journal;

/* Opens the journal for writing. Records up to `through` are compacted. */
NODISCARD bool journal_open(journal *j, sqlite3_vfs *vfs, const char *dir, const world *w,
                            bool no_sync, uint64_t through, err *e);
/* Closes the journal and removes the files whose records are all <= through. */
void journal_close(journal *j, uint64_t through);

/* Numbers the records of the group, writes and syncs them. Sets *first_seq to the number of the
 * first. On failure none of them is valid. */
NODISCARD bool journal_write(journal *j, journal_group *g, uint64_t *first_seq, err *e);

/* Removes segments whose records are all <= through, or keeps them for reuse. */
void journal_release(journal *j, uint64_t through);

/* Bytes of all segment files, including those kept for reuse and those still locked by a reader. */
uint64_t journal_disk_bytes(const journal *j);

/* ---- reading, in any process ---- */

/* The segments from a number on, locked. Until the hold is freed, the writer neither removes nor
 * overwrites them and only appends to the last. So a read can scan the journal at its own pace,
 * without a copy. */
typedef struct journal_hold {
    journal_segment *v;
    int *fd;
    size_t n;
    bool gap; /* the record `from` is missing: it was compacted since, or its file was removed */
    uint64_t first; /* number of the first record that exists */
} journal_hold;

/* Locks the segments. ERR_MISMATCH: compaction was faster; the caller starts over. The zero value
 * may be freed. */
NODISCARD bool journal_hold_take(journal_hold *h, sqlite3_vfs *vfs, const char *dir, uint64_t from,
                                 err *e);
void journal_hold_free(journal_hold *h);

typedef bool journal_visit(void *ctx, uint64_t seq, str bytes, err *e);

/* A position after a visited record, so that a later scan need not begin at the start of the
 * segment. */
typedef struct journal_place {
    uint64_t salt; /* of the segment */
    uint64_t at, next_seq;
} journal_place;

typedef struct journal_scan {
    const journal_hold *hold; /* the segments to scan; NULL: those that exist */
    bool once;                /* the data is not read again: bypass the page cache */
    bool stop;                /* set by the visitor to stop */
    uint64_t from, to;        /* sequence numbers, inclusive */
    journal_place *place;     /* in: end of an earlier scan; out: end of this one; may be NULL */
    uint64_t last;            /* number of the last record that was visited; from - 1: none */
    /* Unreadable records in (doubt_from, doubt_to] may belong to a group that a crash truncated
     * before it was acknowledged. They count as doubtful, not as damaged. */
    uint64_t doubt_from, doubt_to;
    uint64_t n_items, n_bytes, n_damaged, n_doubtful;
    bool gap; /* the record `from` is missing: it was compacted since, or its file was removed */
    uint64_t first; /* number of the first record that exists */
} journal_scan;

/* Visits records in order. `bytes` live until the visitor returns. ERR_MISMATCH: a segment was
 * reused during the scan; the caller starts over. */
NODISCARD bool journal_read(sqlite3_vfs *vfs, const char *dir, journal_scan *s,
                            journal_visit *visit, void *ctx, err *e);
