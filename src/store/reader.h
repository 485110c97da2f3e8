/* store/reader.h - reads a snapshot of a directory: the day files, and the items of the journal
 * that are not in them.
 *
 * reader_begin takes snapshots of the files, finds the last number that they contain, locks the
 * rest of the journal, and takes the snapshots again. If the second snapshots have more items, it
 * starts over. So every read sees each item once. */
#pragma once
#include "store/catalog.h"
#include "store/chunk.h"
#include "store/filter.h"
#include "store/item.h"
#include "store/journal.h"
#include "store/manifest.h"
#include "store/names.h"

typedef struct raw_item {
    uint64_t seq;
    str bytes; /* for take_item */
    item x;
    str why; /* reason why it is stored as received; empty: unknown, or it waits for compaction */
} raw_item;

typedef struct reader {
    day_opts o;
    size_t memory; /* limit for the tables that stay cached between reads */
    const world *world;
    day **days; /* oldest first */
    size_t n_days, cap_days;
    zipper z;
    arena block;      /* the current block or item */
    arena raw;        /* bytes of an item that a file stores as received */
    arena work, keep; /* for reads: maps of the current dictionary; sums */
    catalog catalog;  /* opened once it exists */
    names_db names;
    manifest listed; /* the files that must exist */
    journal_hold hold;
    uint64_t through;
    /* last number that the files record; `through` may be higher, see `gap` */
    uint64_t compacted;
    uint64_t n_damaged, n_doubtful; /* in the journal, found by reader_items */
    /* Unreadable records in (doubt_from, doubt_to] count as doubtful (journal_scan). The process
     * that writes the directory sets both. doubt_to 0: every record after the last one that the
     * manifest lists as acknowledged. */
    uint64_t doubt_from, doubt_to;
    bool begun;
    bool lost;   /* a file is damaged, so that its `through` is unknown */
    bool second; /* second snapshots: damage was reported already */
    bool alone;  /* this process writes the directory and is not compacting */
    /* the file that records `through` is missing; `through` is where the journal begins */
    bool gap;
    /* Called when a file is damaged, once for each file and read. */
    void (*broken)(void *ctx, day_name name, const err *why);
    /* Called when a damaged block or item is skipped. */
    void (*damaged)(void *ctx, const char *what);
    void *ctx;
} reader;

void reader_init(reader *r, const day_opts *o, size_t memory, const world *w);
void reader_free(reader *r);

NODISCARD bool reader_begin(reader *r, err *e);
void reader_end(reader *r);

/* Returns whether no process has the store open for writing. */
bool reader_has_no_writer(const char *dir);

/* Passes each item of the journal that is not in the files to the visitor. The item lives until the
 * visitor returns. *stop ends the iteration. */
typedef bool reader_item(void *ctx, const raw_item *x, bool *stop, err *e);
NODISCARD bool reader_items(reader *r, reader_item *visit, void *ctx, err *e);

/* Passes the raw items of the day file to the visitor, as reader_items does. Adds those that cannot
 * be read to *damaged. */
NODISCARD bool reader_raw(reader *r, day *d, reader_item *visit, void *ctx, uint64_t *damaged,
                          err *e);

/* Calls `visit` for each file and segment that the manifest lists and the reader did not find.
 * `entry`: the line of a file, NULL for a segment; `why`: a message. */
typedef void reader_missing_visit(void *ctx, const manifest_file *entry, uint64_t items,
                                  const char *why);
void reader_missing(reader *r, reader_missing_visit *visit, void *ctx);

/* Adds stored names to the locations of b, if `wanted`. */
NODISCARD bool reader_name(reader *r, bool wanted, builder *b, err *e);

/* ---- scanning the selected blocks and items ---- */

typedef struct scan {
    filter f;
    unsigned columns; /* BLOCK_... */
    store_budget budget;
    store_read_result *result, own; /* `result` is the caller's, or `own` */
    uint64_t started, deadline;
    uint64_t n_found;   /* samples found so far, counted by the visitors */
    arena *a;           /* of the result, for budget.max_bytes and the memory of an item */
    uint64_t n_large;   /* items that did not fit the memory */
    char missing[96];   /* message about the first missing file or segment */
    uint64_t n_missing; /* missing items of the journal */

    void *ctx;
    /* Called with each dictionary before its first chunk; numbers of the previous dictionary are
     * invalid from then on. Called with NULL at the end of a dictionary. */
    bool (*dict)(void *ctx, const model *m, err *e);
    bool begun; /* `dict` was called for the current file */
    /* Handles a block without reading its data and sets *done, if possible. May be NULL. open:
     * matchers that its series leaves undecided. */
    bool (*quick)(void *ctx, const day_block *b, const tables *t, filter_open_rules open,
                  bool covered, bool *done, err *e);
    bool (*chunk)(void *ctx, const chunk *c, err *e);
    bool payloads;    /* also read original payloads */
    bool blocks_done; /* set by a visitor that needs no more blocks, only items */
} scan;

NODISCARD bool scan_open(scan *k, const store_selector *q, const store_budget *b,
                         store_read_result *result, const world *w, err *e);
void scan_close(scan *k, const world *w);

/* Sets result->partial when a limit is reached. Returns whether the scan has to stop. */
bool scan_is_over(scan *k, const world *w);

NODISCARD bool reader_scan(reader *r, scan *k, err *e);
/* Calls `broken` for a damaged file, once in each read. */
void reader_broken(reader *r, day_name name, const err *why);
