/* store/tables.h - the dictionary of one day file: the entries that its blocks refer to by number.
 * Pure.
 *
 * Tables only grow. In the file they are a sequence of deltas (docs/store.md): the new entries
 * since the previous delta, as columns. In addition to the tables of a model there are
 *
 *   lists   lists of attributes as they were sent, spans of dict.attr_refs; list 0 is empty */
#pragma once
#include "store/column.h"
#include "model/builder.h"

typedef struct tables {
    model m; /* the dictionary, without profiles */
    arena *a;
    VEC(span) lists;
} tables;

typedef struct tables_size {
    uint32_t strings, attributes, mappings, functions, locations, stacks, lists;
} tables_size;

/* Initializes tables that have only the zero entries. */
NODISCARD bool tables_init(tables *t, arena *a);
tables_size tables_count(const tables *t);

/* Decodes a delta and appends its entries. Returns false when it is damaged or the arena's budget
 * is spent. */
NODISCARD bool tables_take(tables *t, str delta, zipper *z);

/* Writes a delta with all entries from `from` on. Stacks are sorted from the root, so that each is
 * stored as its difference to the previous one. */
void tables_put(const tables *t, const tables_size *from, buf *out, zipper *z);

/* ---- tables with interning, for writers ---- */

typedef struct interner {
    builder b; /* has the current dictionary; interner_tables copies it to t.m.dict */
    tables t;
    hash_index lists;
} interner;

NODISCARD bool interner_init(interner *x, arena *a);
/* Initializes the interner with tables that were read from a file. Numbers stay the same. */
NODISCARD bool interner_load(interner *x, const tables *from);
/* Returns the current tables. */
const tables *interner_tables(interner *x);
uint32_t interner_list(interner *x, const uint32_t *attrs, size_t n);
