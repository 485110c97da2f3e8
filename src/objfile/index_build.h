/* objfile/index_build.h - what the files that make an index share. */
#pragma once
#include "base/hash.h"
#include "objfile/index.h"

#define INDEX_MAGIC "KILNSYM"
#define INDEX_ORDER 0x01020304u

enum { INDEX_ALIGN = 64 };

typedef struct index_places {
    uint64_t buckets, rows, scopes, text, size;
} index_places;

/* Where the tables of a block lie, from its counts; false when that does not fit 64 bits. */
bool index_layout(const index_header *h, index_places *p);
uint64_t index_checksum(str block);

/* A function or an inlined call. */
typedef struct built_scope {
    uint32_t function; /* position + 1; 0: not known */
    uint32_t parent;   /* as in index_scope */
    uint32_t call_file, call_line, call_column;
} built_scope;

typedef struct built_function {
    uint32_t linkage_name, around, name, line;
} built_function;

/* Code that a scope covers. */
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
    VEC(exec_range) exec; /* sorted; debug information about anything else is dead */
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

/* Position of a text, each kept once; 0 for "" and when out of memory. */
uint32_t index_text(index_builder *b, str s);
/* Position + 1 of a function, `around` the text of its scope, each kept once; 0 when out of memory. */
uint32_t index_function_of(index_builder *b, str linkage_name, uint32_t around, str name,
                           uint32_t line);

/* Lo and hi cut to the code that holds lo; false when it is no code. */
bool index_clip(const index_builder *b, uint64_t lo, uint64_t *hi);

/* Ranges and lines, in any order and overlapping, and sorted symbols become rows. */
NODISCARD bool index_flatten(index_builder *b, const symbol_list *symbols);

/* dwarf.c: adds scopes, ranges and lines of all units.  false: only at the budget, or stopped. */
NODISCARD bool dwarf_collect(index_builder *b, const elf_file *f, const elf_file *alt);
