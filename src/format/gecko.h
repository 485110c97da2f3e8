/* format/gecko.h - internals of the reader of the Firefox Profiler's two formats: raw (as Firefox
 * and perf write it) and processed (profiler.firefox.com, samply). See docs/gecko.md.
 *
 *   document ─ processes ─ threads ─ tables, stored as slices until a thread is read
 *
 * Both have the same tables in different shapes: rows of cells with a schema, or columns. */
#pragma once
#include "format/json_read.h"
#include "format/nest.h"
#include "format/observe.h"

#define GECKO_NONE INT64_MIN /* null or missing */

enum { GECKO_MAX_PROCESS_DEPTH = 4 }; /* maximum nesting of processes */

/* ---- tables ---- */

typedef struct gecko_column {
    const char *name;
    int scale; /* values are multiplied by 10^scale */
    bool present;
    i64s v; /* one per row; may be GECKO_NONE */
} gecko_column;

/* Reads the columns `cols` of a table of either shape. Sets *rows to the length of the longest. */
NODISCARD bool gecko_table(json_slice text, gecko_column *cols, size_t n, size_t *rows, arena *work,
                           bool *rounded, err *e);

typedef VEC(str) gecko_strings;
NODISCARD bool gecko_string_table(json_slice text, gecko_strings *out, arena *work, err *e);

static inline int64_t gecko_at(const gecko_column *c, int64_t row)
{
    return c->present && row >= 0 && (uint64_t)row < c->v.n ? c->v.v[row] : GECKO_NONE;
}

/* ---- tables of a thread ---- */

typedef struct gecko_slices {
    json_slice stacks, frames, funcs, resources, symbols, sources, strings;
} gecko_slices;

typedef struct gecko_lib {
    uint64_t start, end, offset;
    str name, path, breakpad, code;
    uint32_t mapping; /* index + 1; 0: not created yet */
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
    char cpu_unit;    /* unit of threadCPUDelta: n, u, c (cycles); 0: absent */
} gecko_process;

/* The rows of a stack table, as nodes of the stack tree. */
typedef struct gecko_stacks {
    u32s node; /* per row */
} gecko_stacks;

typedef struct gecko_reader gecko_reader;

/* Reads the rows of a thread's stack table. */
NODISCARD bool gecko_read_stacks(gecko_reader *r, gecko_process *p, const gecko_slices *s,
                                 gecko_stacks *out, err *e);

struct gecko_reader {
    builder b;
    arena *work;
    nest_tree tree;
    ledger *l;
    bool rounded;
    uint64_t n_damaged; /* skipped rows of tables and skipped threads */
    err first_damage;   /* error of the first of these */
};

/* Counts the error e as damage and clears it. Returns false when e is of another kind, such as an
 * exhausted budget. */
NODISCARD bool gecko_skip_damaged(gecko_reader *r, err *e);

/* ---- the document ---- */

typedef struct gecko_thread {
    size_t process; /* index in processes */
    gecko_slices own;
    json_slice samples;
    str name, pid, process_name;
    int64_t tid;
    bool has_tid;
    uint32_t group; /* number of its group: threads with the same pid */
} gecko_thread;

typedef struct gecko_walk {
    gecko_reader r;
    VEC(gecko_process) processes;
    VEC(gecko_thread) threads;
    uint64_t n_markers, n_details, n_metadata;
    uint64_t n_stacked; /* samples that have a stack */
    err *e;
} gecko_walk;

/* Fills in processes and threads. */
NODISCARD bool gecko_read_document(gecko_walk *w, str bytes);
