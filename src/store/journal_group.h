/* store/journal_group.h - records that are written together: copies one behind the other, and between them large ones that stay where
 * they are.
 *
 *   copied   [record | record | 0]      [record | record | 0]        each stretch ends at a multiple of JOURNAL_EVEN where a
 *   lent                          [record 0]                         lent record follows it */
#pragma once
#include "store/bytes.h"

enum {
    JOURNAL_RECORD = 40,
    JOURNAL_EVEN = 4096, /* what is written without a copy begins and ends at a multiple */
};

/* A record in somebody else's memory, which is theirs again when the group was written. */
typedef struct journal_lent {
    char *p;
    size_t n;              /* multiples of JOURNAL_EVEN, both */
    size_t copied, padded; /* end of the records that were copied before it, and of their zeros */
} journal_lent;

/* The zero value is empty. */
typedef struct journal_group {
    buf copied;
    journal_lent *v;
    size_t n, cap;
    size_t lent; /* bytes of v */
} journal_group;

static inline uint64_t journal_even(uint64_t n)
{
    return (n + JOURNAL_EVEN - 1) & ~(uint64_t)(JOURNAL_EVEN - 1);
}

static inline size_t journal_group_bytes(const journal_group *g) { return g->copied.n + g->lent; }

/* Room for a record; its bytes are appended to `copied`, then journal_end.  `copied.failed`: no memory. */
size_t journal_begin(journal_group *g);
void journal_end(journal_group *g, size_t at);

/* A record at p, JOURNAL_RECORD bytes for its head and then n bytes, all of it writable up to the next multiple of JOURNAL_EVEN,
 * where it also begins.  false: no memory. */
NODISCARD bool journal_lend(journal_group *g, char *p, size_t n);

/* Numbers all records; the number behind the last. */
uint64_t journal_number(journal_group *g, uint64_t seq, uint64_t salt);

/* Makes `copied` begin and end at multiples of JOURNAL_EVEN; memory that is large enough stays.  false: no memory. */
NODISCARD bool journal_even_out(journal_group *g);

/* What is to be written, in order: up to 2 * n + 1 parts. */
size_t journal_parts(const journal_group *g, str *out);

void journal_group_reset(journal_group *g, size_t keep); /* memory over `keep` bytes is let go */
void journal_group_free(journal_group *g);
