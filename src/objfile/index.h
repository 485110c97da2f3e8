/* objfile/index.h - address -> function, file, line and the calls inlined there.  Pure.
 *
 * One flat block of bytes that can be written to a file and mapped again: no pointers, tables
 * aligned to 64 bytes behind a header (docs/symbols.md draws it).  Looking up is a binary search over
 * addresses and a walk from the innermost inlined function outward:
 *
 *   bucket[]  the first row of each equal piece of the code: a search begins among a few rows
 *   row[]     {address, scope, symbol, file, line, column}          the innermost frame's place
 *                         │      └ what the symbol table says: the name of the outermost frame
 *                         └► scope[] {names, first line, parent, call file, line, column} ► parent ► ...
 *
 * Rows and scopes are 32 bytes and never cross a cache line: a lookup costs a bucket, a row and the
 * scopes of its chain, and touches no text.
 *
 * A block is checked when it is opened; a lookup trusts no index in it all the same, so that even a
 * block with a valid checksum and wrong numbers gives wrong names at worst. */
#pragma once
#include "base/stopper.h"
#include "objfile/symbols.h"

enum { INDEX_VERSION = 3, INDEX_MAX_FRAMES = 256 };

typedef struct index_header {
    char magic[8];  /* "KILNSYM" */
    uint32_t order; /* 0x01020304 in the byte order of its maker */
    uint32_t version;
    uint64_t size;     /* of the whole block */
    uint64_t checksum; /* XXH3 of everything behind this field */
    uint32_t flags;    /* INDEX_HAS_* */
    uint32_t n_broken; /* units of debug information that could not be read */
    uint32_t shift;    /* a bucket is 2^shift bytes of code */
    uint32_t unused;
    uint64_t n_buckets, n_rows, n_scopes, n_text;
} index_header;

enum {
    INDEX_HAS_LINES = 1,   /* DWARF functions or lines */
    INDEX_HAS_SYMBOLS = 2, /* a full symbol table */
    INDEX_HAS_DYNAMIC = 4, /* exported symbols only */
    INDEX_HAS_SPLIT = 8,   /* names are in .dwo files that were not read */
};

typedef struct index_row {
    uint64_t address;
    uint32_t scope;  /* position + 1; 0: none */
    uint32_t symbol; /* text; 0: none */
    uint32_t file;   /* text */
    uint32_t line, column;
    uint32_t unused;
} index_row;

typedef struct index_scope {
    uint32_t linkage_name, name; /* text */
    uint32_t start_line;         /* of its declaration; 0: not known */
    uint32_t parent;             /* position + 1 of the caller it was inlined into; 0: none */
    uint32_t call_file, call_line, call_column;
    uint32_t around; /* text: what holds a function that has no linkage name */
} index_scope;

/* A block being looked at.  It views the bytes it was opened with. */
typedef struct index_view {
    index_header h;
    const uint32_t *buckets;
    const index_row *rows;
    const index_scope *scopes;
    const char *text; /* terminated strings; position 0 is "" */
} index_view;

/* ERR_MALFORMED when it is no block of this version and byte order, or damaged.  `bytes` must be
 * 8-byte aligned and outlive *out. */
NODISCARD bool index_open(str bytes, index_view *out, err *e);
/* The same without its checksum, which would read all of it: a lookup touches a few pages. */
NODISCARD bool index_open_unread(str bytes, index_view *out, err *e);

/* Texts are positions: equal ones are equal, and a caller that met them before need not look. */
typedef struct index_frame {
    uint32_t linkage_name; /* as the linker knows it; 0: no such name */
    uint32_t name;         /* as the source says it; 0: not known */
    uint32_t around; /* what holds it, if no linkage name says so: app::(anonymous namespace) */
    uint32_t file;
    uint32_t line, column, start_line;
} index_frame;

/* The frames at an address of the file, innermost first; at most `max`.  0: nothing is known. */
size_t index_find(const index_view *x, uint64_t address, index_frame *out, size_t max);
str index_text_at(const index_view *x, uint32_t text);

/* ---- making one ---- */

typedef struct index_source {
    const elf_file *file;  /* what was running; NULL: only the debug file is there */
    const elf_file *debug; /* its debug information: another file, or the same; NULL: none */
    const elf_file *alt;   /* what dwz moved out of `debug`; NULL: nothing or not found */
    bool names_only;       /* symbol tables alone, whatever `debug` has besides */
    stopper *stop;         /* asked before each unit of the debug information; NULL: never */
} index_source;

/* Builds a block in `a`, which must have room for a few times the debug information.  What is broken
 * is left out and counted in n_broken; ERR_LIMIT at the budget, the stopper's error when it was stopped. */
NODISCARD bool index_build(const index_source *s, arena *a, str *out, err *e);

/* A block of nothing but names. */
NODISCARD bool index_build_symbols(const symbol_list *l, uint32_t flags, arena *a, str *out,
                                   err *e);
