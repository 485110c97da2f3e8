/* store/journal_group.h - records that are written together: small ones are copied to a buffer;
 * large ones between them stay in the memory of their callers ("lent").
 *
 *   copied   [record | record | 0]      [record | record | 0]
 *   lent                          [record 0]
 *
 * Copied records before a lent record are padded to a multiple of JOURNAL_EVEN. */
#pragma once
#include "store/bytes.h"

enum {
    JOURNAL_RECORD = 40,
    JOURNAL_EVEN = 4096, /* alignment of data that is written without a copy */
};

/* A record in the caller's memory, which the store may use until the group was written. */
typedef struct journal_lent {
    char *p;
    size_t n;              /* both are multiples of JOURNAL_EVEN */
    size_t copied, padded; /* end of the records copied before it, without and with padding */
} journal_lent;

/* The zero value is empty. */
typedef struct journal_group {
    buf copied;
    journal_lent *v;
    size_t n, cap;
    size_t lent; /* bytes of all records in v */
} journal_group;

static inline uint64_t journal_even(uint64_t n)
{
    return (n + JOURNAL_EVEN - 1) & ~(uint64_t)(JOURNAL_EVEN - 1);
}

static inline size_t journal_group_bytes(const journal_group *g) { return g->copied.n + g->lent; }

/* Begins a record. The caller appends its bytes to `copied` and calls journal_end. Sets
 * copied.failed when out of memory. */
size_t journal_begin(journal_group *g);
void journal_end(journal_group *g, size_t at);

/* Adds a record at p: JOURNAL_RECORD bytes for its header, then n bytes. p is a multiple of
 * JOURNAL_EVEN, and the memory is writable up to the next multiple after the record. Returns false
 * when out of memory. */
NODISCARD bool journal_lend(journal_group *g, char *p, size_t n);

/* Numbers all records. Returns the number after the last. */
uint64_t journal_number(journal_group *g, uint64_t seq, uint64_t salt);

/* Aligns begin and end of `copied` to JOURNAL_EVEN. Reallocates it only if necessary. Returns false
 * when out of memory. */
NODISCARD bool journal_even_out(journal_group *g);

/* Sets out[] to the parts to write, in order, at most 2 * n + 1. Returns their number. */
size_t journal_parts(const journal_group *g, str *out);

void journal_group_reset(journal_group *g, size_t keep); /* keeps at most `keep` bytes of memory */
void journal_group_free(journal_group *g);
