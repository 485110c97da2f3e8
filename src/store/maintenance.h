/* store/maintenance.h - statistics, verification and backup of a store that consists of files. An
 * engine without files returns ERR_UNSUPPORTED. */
#pragma once
#include "store/store.h"

typedef struct store_file {
    str name;
    uint64_t bytes;       /* including its write-ahead log */
    uint64_t first, last; /* times of observations */
    uint64_t n_series, n_profiles, n_samples, n_blocks;
    bool corrupt; /* set aside; nothing else is known */
} store_file;

typedef struct store_stats {
    uint64_t bytes;                /* of all files */
    uint64_t raw_items, raw_bytes; /* acknowledged but not yet compacted */
    uint64_t kept_items;           /* raw items, which compaction could not convert to columns */
    uint64_t n_series, n_profiles, n_samples; /* compacted */
    VEC(store_file) files;                    /* oldest first */
} store_stats;

NODISCARD bool store_get_stats(store_reader *r, arena *a, store_stats *out, err *e);

typedef struct store_backup_result {
    uint64_t n_files; /* day files in the copy */
    uint64_t n_copied,
        n_linked;   /* files copied; day files hard-linked because the destination had them */
    uint64_t bytes; /* copied */
    uint64_t n_samples, n_items; /* in day files; not yet compacted */
    uint64_t n_damaged; /* files and items that are missing in the store and so in the copy */
} store_backup_result;

typedef struct store_backup_opts {
    /* Called from time to time with the current file; may be NULL. */
    void (*progress)(void *ctx, const char *name, const store_backup_result *so_far);
    void *ctx;
} store_backup_opts;

/* Copies a snapshot of the store to the directory `dest`, which becomes a store with all items
 * acknowledged before the call. Another process may write the original during the copy. Day files
 * that an earlier copy in `dest` has are hard-linked, not copied. `dest` is replaced at the end, in
 * one step. ERR_USAGE: `dest` is not a store; ERR_MISMATCH: a process has `dest` open for
 * writing. */
NODISCARD bool store_backup(store_reader *r, const char *dest, const store_backup_opts *o,
                            store_backup_result *out, err *e);

typedef struct store_check {
    uint64_t n_files, n_blocks, n_samples;
    uint64_t n_items; /* not yet compacted */
    uint64_t n_raw;   /* raw items; those that reads cannot decode are reported */
    uint64_t n_problems;
} store_check;

/* Reads everything: checksums, structure, references. Passes a line for each fault to `problem`
 * ("2026-11-15.0.db: block 12: ..."). Returns false only when the store could not be read. */
NODISCARD bool store_verify(store_reader *r, void (*problem)(void *ctx, const char *line),
                            void *ctx, store_check *out, err *e);
