/* store/reader.h - looks at a directory as it is at one moment: day files and what the journal has beyond them.
 *
 * reader_begin takes snapshots of the files, learns through which number they are compacted, holds what the journal has beyond,
 * and takes the snapshots once more.  Do these say more, it begins anew: every answer has each item once. */
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
    str bytes; /* take_item's */
    item x;
    str why; /* it is kept as received; empty: not said, or it waits */
} raw_item;

typedef struct reader {
    day_opts o;
    size_t memory; /* for tables of files that nobody looks at */
    const world *world;
    day **days; /* oldest first */
    size_t n_days, cap_days;
    zipper z;
    arena block;      /* the block or item at hand */
    arena raw;        /* bytes of an item that a file keeps as received */
    arena work, keep; /* of answers: maps of the dictionary at hand, what they add up */
    catalog catalog;  /* open once it is there */
    names_db names;
    manifest listed; /* what must be there */
    journal_hold hold;
    uint64_t through;
    uint64_t compacted;             /* as the files say; `through` may be more, see `gap` */
    uint64_t n_damaged, n_doubtful; /* in the journal, as reader_items found */
    /* Unreadable records of (doubt_from, doubt_to] count as doubtful (journal_scan).  The process that writes the directory sets
     * both; doubt_to 0: every record behind the last one that the manifest lists as acknowledged. */
    uint64_t doubt_from, doubt_to;
    bool begun;
    bool lost;   /* a file is damaged: what it says was compacted is not known */
    bool second; /* the files are taken once more: what is damaged was told */
    bool alone;  /* we write the directory, and nobody compacts */
    bool
        gap; /* the file that says what was compacted is gone; `through` is where the journal begins */
    /* A file is damaged: told once a file and look. */
    void (*broken)(void *who, day_name name, const err *why);
    /* A block or item is damaged and left out. */
    void (*damaged)(void *who, const char *what);
    void *who;
} reader;

void reader_init(reader *r, const day_opts *o, size_t memory, const world *w);
void reader_free(reader *r);

NODISCARD bool reader_begin(reader *r, err *e);
void reader_end(reader *r);

/* No process has the store open for writing. */
bool reader_nobody_writes(const char *dir);

/* What the journal has beyond the files, item by item, each of which lives until the visitor returns.  *stop: enough. */
typedef bool reader_item(void *who, const raw_item *x, bool *stop, err *e);
NODISCARD bool reader_items(reader *r, reader_item *visit, void *who, err *e);

/* The items that the day's file keeps as received, in the same way; `damaged` counts those that cannot be read. */
NODISCARD bool reader_raw(reader *r, day *d, reader_item *visit, void *who, uint64_t *damaged,
                          err *e);

/* Calls `visit` for each file and segment that the manifest lists and the reader did not find; `entry`: of a file, `why`: what
 * is wrong. */
typedef void reader_lack(void *who, const manifest_file *entry, uint64_t items, const char *why);
void reader_lacks(reader *r, reader_lack *visit, void *who);

/* Names for what b holds, if they are wanted. */
NODISCARD bool reader_name(reader *r, bool wanted, builder *b, err *e);

/* ---- going through what a selector means ---- */

typedef struct look {
    filter f;
    unsigned columns; /* BLOCK_... */
    store_budget budget;
    store_answer *answer, own; /* answer: the caller's, or own */
    uint64_t started, deadline;
    uint64_t n_found; /* samples: the visitors count */
    arena *a;         /* of the answer, for budget.max_bytes and the memory of an item */
    uint64_t n_large; /* items that did not fit it */
    char lack[96];    /* the first file or segment that is not there */
    uint64_t n_lack;  /* items of the journal that are not */

    void *who;
    /* A dictionary that something is found in: what was numbered by the last one is settled now.  NULL at its end. */
    bool (*dict)(void *who, const model *m, err *e);
    bool begun; /* dict has been told of the file at hand */
    /* May answer for a block without its data; *done: it has.  NULL: never.  open: rules that its series leaves open. */
    bool (*quick)(void *who, const day_block *b, const tables *t, filter_open_rules open,
                  bool covered, bool *done, err *e);
    bool (*chunk)(void *who, const chunk *c, err *e);
    bool payloads;    /* original payloads are wanted */
    bool blocks_done; /* a visitor sets it: it needs no more blocks of files, only items */
} look;

NODISCARD bool look_open(look *k, const store_selector *q, const store_budget *b,
                         store_answer *answer, const world *w, err *e);
void look_close(look *k, const world *w);

/* Sets answer->partial when a budget is reached; true: stop. */
bool look_over(look *k, const world *w);

NODISCARD bool reader_look(reader *r, look *k, err *e);
