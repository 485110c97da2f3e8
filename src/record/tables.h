/* record/tables.h - compiled unwind tables in memory that BPF programs read.
 *
 * All tables share one array of words and a budget.  A file is compiled once, however many
 * processes map it; its handle is the position of its slot (bpf/shared.h), which mappings refer to.
 * When the words are used up, the table that no walk has used for the longest time is evicted:
 * its slot stays, and walks through it are handed over until table_of() loads it again.
 *
 *     words  | buckets, rows, wide rules of one table | free | buckets ... |
 *     slots  | where its words begin, counts, time of the last use | ...
 *
 * One thread at a time may use a store; BPF programs read it concurrently. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "bpf/shared.h"

#define TABLE_NONE BPF_TABLE_NONE

/* Identifies the content of a file. */
typedef struct table_key {
    uint64_t dev, ino, size;
    int64_t mtime_s, mtime_ns;
} table_key;

typedef struct table_memory {
    size_t n_words;
    /* Maps words for a table that is written, so that the other tables do not count as resident
     * memory of this process.  Returns NULL when that is not possible. */
    uint64_t *(*map)(void *ctx, size_t first, size_t n);
    void (*unmap)(void *ctx, uint64_t *words, size_t first, size_t n);
    struct bpf_table *slots;
    size_t n_slots;
    /* Returns after all walks that began before the call have ended. */
    void (*grace)(void *ctx);
    void *ctx;
} table_memory;

typedef struct table_counts {
    uint32_t files;   /* slots in use */
    uint32_t loaded;  /* tables in memory */
    uint64_t bytes;   /* their size */
    uint64_t rows;    /* their rows */
    uint64_t evicted; /* evictions so far */
    uint64_t refused; /* tables that did not fit */
    uint64_t compiled;
    uint64_t compile_ns; /* time spent in the compiler */
} table_counts;

typedef struct table_store table_store;

/* Returns NULL when out of memory. */
NODISCARD table_store *table_store_open(const table_memory *m, err *e);
void table_store_close(table_store *t);

/* Sets *handle to the slot of the file and loads its table if it is not in memory.  `elf` is the
 * file's bytes; .eh_frame is found through the program headers.  A file without .eh_frame gets a
 * slot without rows.  `now` is in seconds, as the walks stamp it.  Succeeds when the table does not
 * fit, because walks through it are handed over.  Fails with ERR_MALFORMED when the bytes are not
 * an ELF file for this machine, with ERR_LIMIT when all slots are in use. */
NODISCARD bool table_of(table_store *t, const table_key *key, str elf, uint32_t now,
                        uint32_t *handle, err *e);

/* Counts references: a slot without references may be given to another file. */
void table_keep(table_store *t, uint32_t handle);
void table_release(table_store *t, uint32_t handle);

/* Returns whether the table is in memory. */
bool table_loaded(const table_store *t, uint32_t handle);

table_counts table_count(const table_store *t);
