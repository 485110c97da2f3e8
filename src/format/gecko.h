/* format/gecko.h - the Firefox profiler's two formats, inside: raw (as Firefox and perf write it)
 * and processed (profiler.firefox.com, samply).  docs/gecko.md has the mapping.
 *
 *   document ─ processes ─ threads ─ tables, kept as slices until a thread is read
 *
 * Both have the same tables under other shapes: rows of cells with a schema, or columns. */
#pragma once
#include "format/json_read.h"
#include "format/nest.h"
#include "format/observe.h"

#define GECKO_NONE INT64_MIN /* null, missing */

enum { GECKO_MAX_PROCESS_DEPTH = 4 }; /* processes inside processes */

/* ---- tables ---- */

typedef struct gecko_column {
    const char *name;
    int scale; /* values are multiplied by 10^scale */
    bool present;
    i64s v; /* one per row; GECKO_NONE */
} gecko_column;

/* Reads the wanted columns of a table of either shape; `*rows` is the longest of them. */
NODISCARD bool gecko_table(json_slice text, gecko_column *cols, size_t n, size_t *rows, arena *work,
                           bool *rounded, err *e);

typedef VEC(str) gecko_strings;
NODISCARD bool gecko_string_table(json_slice text, gecko_strings *out, arena *work, err *e);

static inline int64_t gecko_at(const gecko_column *c, int64_t row)
{
    return c->present && row >= 0 && (uint64_t)row < c->v.n ? c->v.v[row] : GECKO_NONE;
}

/* ---- what a thread refers to ---- */

typedef struct gecko_slices {
    json_slice stacks, frames, funcs, resources, symbols, sources, strings;
} gecko_slices;

typedef struct gecko_lib {
    uint64_t start, end, offset;
    str name, path, breakpad, code;
    uint32_t mapping; /* + 1; 0: not made yet */
} gecko_lib;

typedef struct gecko_range {
    uint64_t start, end;
    size_t lib;
} gecko_range;

typedef struct gecko_process {
    json_slice libs_text;
    gecko_slices shared;
    VEC(gecko_lib) libs;
    VEC(gecko_range) by_start;
    bool libs_read, is_linux;
    bool has_start;
    int64_t start;    /* Unix ns */
    int64_t interval; /* ns */
    char cpu_unit;    /* of threadCPUDelta: n, u, c (cycles); 0: not said */
} gecko_process;

/* The frames of a stack table, as nodes of the tree. */
typedef struct gecko_stacks {
    u32s node; /* per row */
} gecko_stacks;

typedef struct gecko_reader gecko_reader;

/* The rows of a thread's stack table. */
NODISCARD bool gecko_read_stacks(gecko_reader *r, gecko_process *p, const gecko_slices *s,
                                 gecko_stacks *out, err *e);

struct gecko_reader {
    builder b;
    arena *work;
    nest_tree tree;
    ledger *l;
    bool rounded;
    uint64_t n_odd; /* rows of tables and threads that were left out */
    err odd;        /* the first of them */
};

/* Counts what e says as damage and forgets it.  false: e is of another kind, such as a spent budget. */
NODISCARD bool gecko_leave_out(gecko_reader *r, err *e);

/* ---- the document ---- */

typedef struct gecko_thread {
    size_t process; /* index */
    gecko_slices own;
    json_slice samples;
    str name, pid, process_name;
    int64_t tid;
    bool has_tid;
    uint32_t group; /* threads of one process, as the pid tells */
} gecko_thread;

typedef struct gecko_walk {
    gecko_reader r;
    VEC(gecko_process) processes;
    VEC(gecko_thread) threads;
    uint64_t n_markers, n_details, n_metadata;
    uint64_t n_stacked; /* samples whose stack is there */
    err *e;
} gecko_walk;

/* Fills in processes and threads. */
NODISCARD bool gecko_read_document(gecko_walk *w, str bytes);
