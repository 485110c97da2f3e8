/* store/journal.h - what was acknowledged and waits for compaction: records in segments, one sync for a group of them.
 *
 *   DIR/raw-00000007.log     [header | record | record | ...]         the newest segment is written, older ones are complete
 *   header  64 bytes: "KILNRAW1", u32 number, u32 0, u64 salt, u64 first_seq, 24 bytes 0, u64 XXH3 of the bytes before it
 *   record  u32 "KREC", u32 low half of the XXH3 of the header's other bytes, u64 seq, u64 salt, u64 bytes, u64 XXH3 of the
 *           bytes; then they, padded to 8
 *
 * (1) Sequence numbers rise by one.  A segment holds [first_seq, first_seq of the next segment): records beyond are of a group
 *     that could not be synced and was never acknowledged.
 * (2) A record counts when its salt is its segment's: segments are used again (writing over blocks that the disk has already
 *     is cheaper), and what lay there before has another salt.
 * (3) A record begins behind the one before it, or at the next multiple of JOURNAL_EVEN: so groups can be written without the
 *     kernel copying them.  What lies between are zeros, or what was there before.
 * (4) The header is written before the records, so who reads a record and then finds the header unchanged has read well. */
#pragma once
#include "store/journal_group.h"
#include "store/vfile.h"
#include "net/world.h"

#define JOURNAL_SEGMENT (UINT64_C(16) << 20) /* at most, and by default */
#define JOURNAL_SEGMENT_MIN (UINT64_C(256) << 10)
#define JOURNAL_RESERVE (UINT64_C(1) << 20) /* taken from the disk when a segment begins */
enum { JOURNAL_HEADER = 64, JOURNAL_SPARES = 4 };

typedef struct journal_segment {
    uint32_t number;
    uint64_t salt, first_seq;
    uint64_t end;  /* bytes written */
    uint64_t size; /* of the file: a segment that is written over may be larger than its end */
    bool spare;    /* all of it was compacted: may be written over */
    bool listed;   /* `began` was called for it */
    bool bad;      /* its header is damaged: this is what the manifest says */
} journal_segment;

typedef struct journal {
    sqlite3_vfs *vfs;
    const char *dir;
    const world *world;
    bool no_sync;
    uint64_t segment;   /* bytes of a segment; set by journal_open, the caller may change it */
    journal_segment *v; /* by number */
    size_t n, cap;
    vfile *f; /* of the newest; NULL: the next write begins a new one */
    uint64_t next_seq;
    void (*began)(void *who,
                  const journal_segment *s); /* the first records of a segment are durable */
    void *who;
} journal;

/* Takes up what is there, with sequence numbers above `through`. */
NODISCARD bool journal_open(journal *j, sqlite3_vfs *vfs, const char *dir, const world *w,
                            bool no_sync, uint64_t through, err *e);
/* Files whose records are all <= through are removed. */
void journal_close(journal *j, uint64_t through);

/* Numbers the records of the group, writes and syncs them.  *first_seq: of the first.  false: none of them counts. */
NODISCARD bool journal_write(journal *j, journal_group *g, uint64_t *first_seq, err *e);

/* Removes (or keeps for writing over) segments whose records are all <= through. */
void journal_release(journal *j, uint64_t through);

/* Bytes of all segment files, those kept for writing over and those still locked by a reader included. */
uint64_t journal_disk_bytes(const journal *j);

/* ---- reading, by anyone ---- */

/* The segments from a number on, locked: whoever writes leaves them as they are, and appends to the last, until the hold is freed.
 * So a question can go through the journal at its own pace, without a copy. */
typedef struct journal_hold {
    journal_segment *v;
    int *fd;
    size_t n;
    bool
        gap; /* the record `from` is not there: it was compacted meanwhile, or the file that had it is gone: */
    uint64_t first; /* of those that are there */
} journal_hold;

/* ERR_MISMATCH: compaction was faster; begin anew.  The zero value is free. */
NODISCARD bool journal_hold_take(journal_hold *h, sqlite3_vfs *vfs, const char *dir, uint64_t from,
                                 err *e);
void journal_hold_free(journal_hold *h);

typedef bool journal_visit(void *who, uint64_t seq, str bytes, err *e);

/* Behind a record that was visited: where a scan that goes on from there begins, in place of the start of the segment. */
typedef struct journal_place {
    uint64_t salt; /* of the segment */
    uint64_t at, next_seq;
} journal_place;

typedef struct journal_scan {
    const journal_hold *hold; /* look at these segments; NULL: at those that are there */
    bool once;                /* nobody reads this again: not through the kernel's memory */
    bool stop;                /* set by the visitor: it has seen enough */
    uint64_t from, to;        /* sequence numbers, both inside */
    journal_place *place;     /* of an earlier scan, and left for the next; may be NULL */
    uint64_t last;            /* seen; from - 1: none */
    /* Records in (doubt_from, doubt_to] that cannot be read may be of a group that a crash cut off and nobody acknowledged: they
     * count as doubtful, not as damaged. */
    uint64_t doubt_from, doubt_to;
    uint64_t n_items, n_bytes, n_damaged, n_doubtful;
    bool
        gap; /* the record `from` is no longer there: it was compacted meanwhile, or the file that had it is gone: */
    uint64_t first; /* of those that are there */
} journal_scan;

/* Visits records in order.  `bytes` live until the visitor returns.  ERR_MISMATCH: a segment was used again under the reader, who
 * should begin anew. */
NODISCARD bool journal_read(sqlite3_vfs *vfs, const char *dir, journal_scan *s,
                            journal_visit *visit, void *who, err *e);
