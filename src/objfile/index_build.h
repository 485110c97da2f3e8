/* objfile/index_build.h - declarations that the files that build an index share. */
#pragma once
#include "base/hash.h"
#include "objfile/index.h"

#define INDEX_MAGIC "KILNSYM"
#define INDEX_ORDER 0x01020304u

enum { INDEX_ALIGN = 64 };

typedef struct index_places {
    uint64_t buckets, rows, scopes, text, size;
} index_places;

/* Computes the positions of a block's tables from its counts. Returns false if they do not fit 64
 * bits. */
bool index_layout(const index_header *h, index_places *p);
uint64_t index_checksum(str block);

/* A function or an inlined call. */
typedef struct built_scope {
    uint32_t function; /* position + 1; 0: not known */
    uint32_t parent;   /* as in index_scope */
    uint32_t call_file, call_line, call_column;
} built_scope;

typedef struct built_function {
    uint32_t linkage_name, enclosing, name, line;
} built_function;

/* A range of code that a scope covers. */
typedef struct scope_range {
    uint64_t lo, hi;
    uint32_t scope; /* position + 1 */
} scope_range;

/* A row of a line table; `end`: the sequence ends here. */
typedef struct line_row {
    uint64_t address;
    uint32_t file, line, column;
    bool end;
} line_row;

typedef struct exec_range {
    uint64_t lo, hi;
} exec_range;

typedef struct index_builder {
    arena *a;
    err *e;
    stopper *stop;
    VEC(exec_range) exec; /* sorted; debug information outside of these ranges is dropped */
    VEC(built_scope) scopes;
    VEC(built_function) functions;
    VEC(scope_range) ranges;
    VEC(line_row) lines;
    VEC(char) text;
    VEC(index_row) rows; /* the result of index_flatten */
    hash_index by_text, by_function;
    u32s text_at; /* positions of the strings, for by_text */
    uint32_t flags, n_broken;
    bool failed; /* the budget was reached */
} index_builder;

/* Returns the position of an interned text; 0 for "" and when memory runs out. */
uint32_t index_text(index_builder *b, str s);
/* Returns position + 1 of an interned function; 0 when memory runs out. `enclosing` is the text of
 * its scope. */
uint32_t index_function_of(index_builder *b, str linkage_name, uint32_t enclosing, str name,
                           uint32_t line);

/* Limits *hi to the executable range that contains lo. Returns false if lo is not in code. */
bool index_clip(const index_builder *b, uint64_t lo, uint64_t *hi);

/* Merges ranges and lines, which may overlap in any order, and sorted symbols into rows. */
NODISCARD bool index_flatten(index_builder *b, const symbol_list *symbols);

/* dwarf.c: adds scopes, ranges and lines of all units. Returns false only when the budget is used
 * up or when stopped. */
NODISCARD bool dwarf_collect(index_builder *b, const elf_file *f, const elf_file *alt);
