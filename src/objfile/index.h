/* objfile/index.h - address -> function, file, line and the calls inlined there.  Pure.
 *
 * An index is one block of bytes that can be written to a file and mapped again. It has no
 * pointers; tables aligned to 64 bytes follow a header (layout: docs/symbols.md).  A lookup is a
 * binary search over addresses and a walk from the innermost inlined function outward:
 *
 *     bucket[]  the first row of each equal part of the code: a search starts among a few rows
 *     row[]     {address, scope, symbol, file, line, column}          location of the innermost frame
 *                           │      └ from the symbol table: the name of the outermost frame
 *                           └► scope[] {names, first line, parent, call file, line, column} ► parent ► ...
 *
 * Rows and scopes are 32 bytes and never cross a cache line: a lookup reads a bucket, a row and
 * the scopes of its chain, and no text.
 *
 * A block is checked when it is opened.  A lookup still checks every position, so that a block
 * with a valid checksum and wrong contents can only yield wrong names. */
#pragma once
#include "base/stopper.h"
#include "objfile/symbols.h"

enum { INDEX_VERSION = 4, INDEX_MAX_FRAMES = 256 };

typedef struct index_header {
    char magic[8];  /* "KILNSYM" */
    uint32_t order; /* 0x01020304 in the byte order of the writer */
    uint32_t version;
    uint64_t size;     /* bytes of the whole block */
    uint64_t checksum; /* XXH3 of everything after this field */
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
    uint32_t start_line;         /* line of its declaration; 0: not known */
    uint32_t parent;             /* position + 1 of the caller it was inlined into; 0: none */
    uint32_t call_file, call_line, call_column;
    uint32_t enclosing; /* text: the enclosing scope of a function that has no linkage name */
} index_scope;

/* An open block.  It points into the bytes it was opened with. */
typedef struct index_view {
    index_header h;
    const uint32_t *buckets;
    const index_row *rows;
    const index_scope *scopes;
    const char *text; /* terminated strings; position 0 is "" */
} index_view;

/* Opens a block. ERR_MALFORMED when it is damaged or has another version or byte order. `bytes`
 * must be 8-byte aligned and outlive *out. */
NODISCARD bool index_open(str bytes, index_view *out, err *e);
/* Opens a block without verifying its checksum. Verifying would read the whole block, while a
 * lookup touches only a few pages. */
NODISCARD bool index_open_unread(str bytes, index_view *out, err *e);

/* A frame of a lookup. Texts are positions; equal texts have equal positions, so callers can cache
 * results without reading the texts. */
typedef struct index_frame {
    uint32_t linkage_name; /* 0: none */
    uint32_t name;         /* as in the source; 0: not known */
    /* Enclosing scope if there is no linkage name: app::(anonymous namespace). */
    uint32_t enclosing;
    uint32_t file;
    uint32_t line, column, start_line;
} index_frame;

/* Writes the frames at an address of the file, innermost first, at most `max`. Returns their
 * number; 0 if nothing is known. */
size_t index_find(const index_view *x, uint64_t address, index_frame *out, size_t max);
str index_text_at(const index_view *x, uint32_t text);

/* ---- building ---- */

typedef struct index_source {
    const elf_file *file;  /* the binary; NULL: only its debug file was found */
    const elf_file *debug; /* the file with its debug information; may be the same; NULL: none */
    const elf_file *alt; /* the file that dwz moved parts of `debug` to; NULL: none or not found */
    bool names_only;     /* use only symbol tables, not debug information */
    stopper *stop;       /* polled before each unit of the debug information; NULL: never */
} index_source;

/* Builds a block in `a`, whose budget must allow a few times the debug information. Broken units
 * are skipped and counted in n_broken. ERR_LIMIT when the budget is used up, or the stopper's
 * error. */
NODISCARD bool index_build(const index_source *s, arena *a, str *out, err *e);

/* Builds a block from symbols alone. */
NODISCARD bool index_build_symbols(const symbol_list *l, uint32_t flags, arena *a, str *out,
                                   err *e);
