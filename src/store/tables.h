/* store/tables.h - the dictionary of one day file: what its blocks refer to by number.  Pure.
 *
 * Tables only grow, and in the file they are a sequence of deltas (docs/store.md): what is new since the last one, as columns.
 * Besides the tables of a model:
 *   lists   lists of attributes as they were sent, spans of dict.attr_refs; list 0 is empty */
#pragma once
#include "store/column.h"
#include "model/builder.h"

typedef struct tables {
    model m; /* the dictionary; no profiles */
    arena *a;
    VEC(span) lists;
} tables;

typedef struct tables_size {
    uint32_t strings, attributes, mappings, functions, locations, stacks, lists;
} tables_size;

/* With the zero entries. */
NODISCARD bool tables_init(tables *t, arena *a);
tables_size tables_count(const tables *t);

/* Appends a delta.  false: damaged, or the arena's budget. */
NODISCARD bool tables_take(tables *t, str delta, zipper *z);

/* A delta with everything from `from` on.  Stacks are sorted from the root, so that each says only where it leaves the one
 * before it. */
void tables_put(const tables *t, const tables_size *from, buf *out, zipper *z);

/* ---- the writer's: the same, with interning ---- */

typedef struct interner {
    builder b; /* its dictionary is the truth; t.m.dict is set to it by interner_tables */
    tables t;
    hash_index lists;
} interner;

NODISCARD bool interner_init(interner *x, arena *a);
/* Takes up tables that were read from a file: numbers stay the same. */
NODISCARD bool interner_load(interner *x, const tables *from);
/* The tables as they are now. */
const tables *interner_tables(interner *x);
uint32_t interner_list(interner *x, const uint32_t *attrs, size_t n);
