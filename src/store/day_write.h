/* store/day_write.h - writes a day file: converts models to blocks, dictionary deltas and series,
 * and writes them in one transaction. */
#pragma once
#include "store/workers.h"
#include "store/day.h"
#include "store/item.h"
#include "store/known.h"

typedef enum local_kind { LOCAL_STACK, LOCAL_LIST, LOCAL_PROFILE_LIST, LOCAL_KINDS } local_kind;

/* A block that may be merged with others. weight: number of its profiles, samples and
 * observations. */
typedef struct small_block {
    int64_t id;
    uint64_t weight;
} small_block;

typedef struct writer_series {
    str data; /* as stored in the file; identifies the series */
    block_builder b;
    u32s local[LOCAL_KINDS]; /* number in the file, by number in the series */
    hash_index index[LOCAL_KINDS];
    uint32_t saved[LOCAL_KINDS];
    VEC(small_block) small; /* the blocks after the last large one, in order of arrival */
} writer_series;

/* An attribute list of the current item and its number in a series. */
typedef struct known_list {
    const uint32_t *attrs;
    uint32_t n, series, local; /* series + 1 */
} known_list;

enum { KNOWN_LISTS = 256 }; /* by eight bits of a hash */

/* A stack of the current item: its number in the series that used it last. */
typedef struct series_stack {
    uint32_t series; /* + 1 */
    uint32_t near, far;
} series_stack;

typedef struct block_row block_row;

typedef struct day_writer {
    day_name name;
    database db;
    arena a;       /* tables and series; grows with distinct entries */
    arena indexes; /* indexes of the series' numbers, probed for every sample */
    interner x;
    VEC(writer_series) series; /* row - 1 */
    hash_index by_data;
    known known;
    known_list lists[KNOWN_LISTS];
    series_stack *stacks; /* by stack of the current item */
    tables_size saved;
    size_t saved_series;

    arena run;  /* columns: grow with the samples until they are flushed */
    arena item; /* memory of the current item */
    zipper z;
    buf scratch, out;
    buf keys; /* keys of the profiles of this transaction */
    size_t max_run, max_tables;
    sqlite3_stmt *put_block, *get_block, *drop_block, *put_payload;
    bool begun;
    workers *workers;                            /* help with encoding; NULL: none */
    block_row *rows;                             /* rows being encoded */
    uint64_t n_samples, n_profiles, first, last; /* in this transaction */
    uint64_t arrived_first, arrived_last;        /* in this transaction */
} day_writer;

/* Opens or creates the file and reads its tables. `memory` limits the columns, and is the size at
 * which the tables count as full; both may exceed it by one item. Returns NULL on failure. */
NODISCARD day_writer *day_writer_open(const day_opts *o, day_name name, size_t memory, err *e);
/* Closes the file and discards uncommitted data. */
void day_writer_close(day_writer *w);

/* Shrinks a file that gets no more items (day_finish.c): rewrites the dictionary as one delta, the
 * numbers of each series as one row, merges small blocks, and deletes the keys (day_keys derives
 * them from the blocks). Does nothing when little would be saved, or when the file was finished
 * already. */
NODISCARD bool day_writer_finish(day_writer *w, err *e);

/* Returns whether the dictionary is so large that a new part should begin. */
bool day_writer_full(const day_writer *w);

/* Adds the profiles of an item except duplicates. m is the decoded item, h its hashes (known_hash
 * with the seed of the files). */
NODISCARD bool day_writer_add(day_writer *w, uint64_t seq, const item *x, const model *m,
                              const known_hashes *h, err *e);
/* Stores an item that cannot be converted to columns as received. `bytes` is the whole item, x its
 * header as far as it could be read. */
NODISCARD bool day_writer_add_raw(day_writer *w, uint64_t seq, const item *x, str bytes, str why,
                                  err *e);
/* Makes everything durable, together with `through`. */
NODISCARD bool day_writer_commit(day_writer *w, uint64_t through, err *e);

/* Removes data that arrived before `before` from the file, in one transaction (day_trim.c): deletes
 * old blocks and rewrites those that also have newer data. The dictionary stays. ERR_MALFORMED: the
 * file is damaged. */
typedef struct day_trimmed {
    uint64_t n_profiles, n_samples, n_raw; /* removed */
} day_trimmed;
NODISCARD bool day_trim(const day_opts *o, day_name name, size_t memory, uint64_t before,
                        day_trimmed *out, err *e);

/* ---- internal ---- */

NODISCARD bool day_writer_begin(day_writer *w, err *e);
/* Runs a statement with one number about the counts of the file. */
NODISCARD bool day_writer_count(day_writer *w, const char *sql, uint64_t v, err *e);

/* Returns the number that the series has for a stack or list of the file; LOCAL_FAR when it has
 * none, UINT32_MAX when out of memory. */
#define LOCAL_FAR (UINT32_MAX - 1)
uint32_t day_writer_local(day_writer *w, uint32_t series_i, local_kind kind, uint32_t id);
/* Encodes a block and writes its row. */
NODISCARD bool day_writer_save_block(day_writer *w, uint32_t series_i, const block_builder *b,
                                     int64_t id, err *e);
/* Writes the columns of every series, and its new numbers (day_flush.c). */
NODISCARD bool day_writer_save_blocks(day_writer *w, err *e);
void block_rows_free(block_row *v);
NODISCARD bool day_writer_save_local(day_writer *w, uint32_t series_i, err *e);
/* Inserts one row: integers, then blobs. */
NODISCARD bool day_writer_insert(day_writer *w, sqlite3_stmt *s, const int64_t *numbers, int n,
                                 const str *blobs, int n_blobs, err *e);
NODISCARD bool day_writer_insert_once(day_writer *w, const char *sql, const int64_t *numbers, int n,
                                      const buf *blob, err *e);
NODISCARD bool day_writer_begin(day_writer *w, err *e);
/* Runs a statement with one number about the counts of the file. */
NODISCARD bool day_writer_count(day_writer *w, const char *sql, uint64_t v, err *e);
NODISCARD bool day_writer_save_tables(day_writer *w, zipper *z, err *e);

/* Reads a block of the file into w->item; it lives until the next call. Sets *good to whether the
 * block could be read. */
NODISCARD bool day_writer_take_block(day_writer *w, uint32_t series_i, int64_t id, unsigned columns,
                                     block *out, bool *good, err *e);
NODISCARD bool day_writer_drop_block(day_writer *w, int64_t id, err *e);
NODISCARD bool day_writer_copy_profile(day_writer *w, uint32_t series_i, const block *x, size_t i,
                                       block_builder *to);

/* Merges small adjacent blocks of a series in the current transaction (day_merge.c). Each
 * compaction writes a block for a sender of few samples, and most of such a block is overhead. */
NODISCARD bool day_writer_merge(day_writer *w, uint32_t series_i, err *e);
/* Merges all blocks of the series except large ones. For day_writer_finish. */
NODISCARD bool day_writer_merge_rest(day_writer *w, uint32_t series_i, err *e);
NODISCARD bool day_writer_note_block(day_writer *w, uint32_t series_i, int64_t id, uint64_t weight);
NODISCARD bool day_writer_find_small(day_writer *w, err *e);
