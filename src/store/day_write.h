/* store/day_write.h - fills a day file: models in, blocks, dictionary deltas and series out, in one transaction. */
#pragma once
#include "store/crew.h"
#include "store/day.h"
#include "store/item.h"
#include "store/known.h"

typedef enum local_kind { LOCAL_STACK, LOCAL_LIST, LOCAL_PROFILE_LIST, LOCAL_KINDS } local_kind;

/* A block that may be merged with others; weight: its profiles, samples and observations. */
typedef struct small_block {
    int64_t id;
    uint64_t weight;
} small_block;

typedef struct writer_series {
    str data; /* as in the file: what it is known by */
    block_builder b;
    u32s local[LOCAL_KINDS]; /* numbers of the file by number of the series */
    hash_index index[LOCAL_KINDS];
    uint32_t saved[LOCAL_KINDS];
    VEC(small_block) small; /* those behind the last large one, in order of arrival */
} writer_series;

/* A list of attributes of the item at hand and its number in the series. */
typedef struct known_list {
    const uint32_t *attrs;
    uint32_t n, series, local; /* series + 1 */
} known_list;

enum { KNOWN_LISTS = 256 }; /* by eight bits of a hash */

/* A stack of the item at hand: its number in the series that asked last. */
typedef struct series_stack {
    uint32_t series; /* + 1 */
    uint32_t near, far;
} series_stack;

typedef struct block_row block_row;

typedef struct day_writer {
    day_name name;
    database db;
    arena a;       /* tables and series: grows with what is distinct */
    arena indexes; /* of the series' numbers: probed for every sample */
    interner x;
    VEC(writer_series) series; /* row - 1 */
    hash_index by_data;
    known known;
    known_list lists[KNOWN_LISTS];
    series_stack *stacks; /* by stack of the item at hand */
    tables_size saved;
    size_t saved_series;

    arena run;  /* columns: grow with the samples, until they are flushed */
    arena item; /* of the item at hand */
    zipper z;
    buf scratch, out;
    buf keys; /* of the profiles of this transaction */
    size_t max_run, max_tables;
    sqlite3_stmt *put_block, *get_block, *drop_block, *put_payload;
    bool begun;
    crew *crew;                                  /* helps to write out; NULL: nobody does */
    block_row *rows;                             /* that are being made */
    uint64_t n_samples, n_profiles, first, last; /* of this transaction */
    uint64_t arrived_first, arrived_last;        /* the same */
} day_writer;

/* Opens or makes the file and takes up its tables.  `memory`: for columns, and for tables: at it they are full, and one item
 * more is what they may grow beyond.  NULL: `e` says why. */
NODISCARD day_writer *day_writer_open(const day_opts *o, day_name name, size_t memory, err *e);
/* What was not committed is gone. */
void day_writer_close(day_writer *w);

/* A file that no more is expected for takes less room: its dictionary, the numbers of its series and its small blocks are written
 * anew as one each, the keys go (day_keys finds them in the blocks).  Does nothing where little would be won, or when that was
 * done already (day_finish.c). */
NODISCARD bool day_writer_finish(day_writer *w, err *e);

/* Is the dictionary so large that a new part should begin? */
bool day_writer_full(const day_writer *w);

/* Adds the profiles of an item that are not to be skipped; m is what its bytes say, h its hashes (known_hash with the seed of
 * the files). */
NODISCARD bool day_writer_add(day_writer *w, uint64_t seq, const item *x, const model *m,
                              const known_hashes *h, err *e);
/* Keeps an item that columns cannot be made of as received: `bytes` is all of it, x what of it could be read. */
NODISCARD bool day_writer_add_raw(day_writer *w, uint64_t seq, const item *x, str bytes, str why,
                                  err *e);
/* Makes all durable, together with `through`. */
NODISCARD bool day_writer_commit(day_writer *w, uint64_t through, err *e);

/* What arrived before `before` leaves the file in one transaction (day_trim.c): blocks go, those that hold both are written
 * again without it.  The dictionary stays.  ERR_MALFORMED: the file is damaged. */
typedef struct day_trimmed {
    uint64_t n_profiles, n_samples, n_raw; /* removed */
} day_trimmed;
NODISCARD bool day_trim(const day_opts *o, day_name name, size_t memory, uint64_t before,
                        day_trimmed *out, err *e);

/* ---- its parts ---- */

NODISCARD bool day_writer_begin(day_writer *w, err *e);
/* Runs a statement about the figures of the file, with one number. */
NODISCARD bool day_writer_count(day_writer *w, const char *sql, uint64_t v, err *e);

/* The number that the series has for a stack or list of the file; LOCAL_FAR: it has none; UINT32_MAX: no memory. */
#define LOCAL_FAR (UINT32_MAX - 1)
uint32_t day_writer_local(day_writer *w, uint32_t series_i, local_kind kind, uint32_t id);
/* Makes the row of a block and writes it. */
NODISCARD bool day_writer_save_block(day_writer *w, uint32_t series_i, const block_builder *b,
                                     int64_t id, err *e);
/* Writes the columns of every series out, with its numbers (day_flush.c). */
NODISCARD bool day_writer_save_blocks(day_writer *w, err *e);
void block_rows_free(block_row *v);
NODISCARD bool day_writer_save_local(day_writer *w, uint32_t series_i, err *e);
/* One row: integers, then blobs. */
NODISCARD bool day_writer_insert(day_writer *w, sqlite3_stmt *s, const int64_t *numbers, int n,
                                 const str *blobs, int n_blobs, err *e);
NODISCARD bool day_writer_insert_once(day_writer *w, const char *sql, const int64_t *numbers, int n,
                                      const buf *blob, err *e);
NODISCARD bool day_writer_begin(day_writer *w, err *e);
/* Runs a statement about the figures of the file, with one number. */
NODISCARD bool day_writer_count(day_writer *w, const char *sql, uint64_t v, err *e);
NODISCARD bool day_writer_save_tables(day_writer *w, zipper *z, err *e);
bool day_writer_no_memory(err *e); /* always false */

/* A block of the file in w->item; its bytes live until the next call.  *good: it could be read. */
NODISCARD bool day_writer_take_block(day_writer *w, uint32_t series_i, int64_t id, unsigned columns,
                                     block *out, bool *good, err *e);
NODISCARD bool day_writer_drop_block(day_writer *w, int64_t id, err *e);
NODISCARD bool day_writer_copy_profile(day_writer *w, uint32_t series_i, const block *x, size_t i,
                                       block_builder *to);

/* Small blocks of a series that came one after the other become one, in the transaction at hand (day_merge.c): who sends
 * little has a block a run, and most of such a block is its frame. */
NODISCARD bool day_writer_merge(day_writer *w, uint32_t series_i, err *e);
/* All blocks of the series but the large ones, a last time: for a file that is over. */
NODISCARD bool day_writer_merge_rest(day_writer *w, uint32_t series_i, err *e);
NODISCARD bool day_writer_note_block(day_writer *w, uint32_t series_i, int64_t id, uint64_t weight);
NODISCARD bool day_writer_find_small(day_writer *w, err *e);
