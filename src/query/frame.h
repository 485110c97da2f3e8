/* query/frame.h - frames of stacks at a granularity, interned: what tables, trees and pictures name.
 *
 * A frame is what two places of a program have in common at the granularity that was asked for: at
 * BY_FUNCTION all places of a function, at BY_LINE those on a line of it, and so on.  Frames are
 * compared by the text of their names, never by indices of a dictionary, so one table can serve several
 * models: `diff` and sums over files put all their views over one table.
 *
 * Labels are pprof's: "name", "name file:line", "0000000000401136 name file:line", "file",
 * "[libc.so.6]" where only the mapping is known, "<unknown>". */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "model/model.h"

typedef enum granularity {
    BY_FUNCTION, /* name */
    BY_FILE_FUNCTION,
    BY_FILE,
    BY_LINE,    /* name, file, line */
    BY_ADDRESS, /* name, file, line, address */
    BY_MAPPING, /* the binary */
    GRANULARITY_COUNT
} granularity;

/* "functions", "filefunctions", "files", "lines", "addresses", "mappings". */
const char *granularity_name(granularity g);

#define NO_FRAME UINT32_MAX
#define PLACE_FRAMES_MAX ((UINT32_C(1) << 31) - 1) /* frames of a table */

typedef enum frame_flags {
    FRAME_INLINED = 1, /* some location has it as an inlined call */
    FRAME_CALLED = 2,  /* some location has it as a call of its own */
    FRAME_TAG = 4,     /* no code: a value of --tagroot or --tagleaf */
} frame_flags;

typedef struct frame {
    str label; /* for people; UTF-8, not empty */
    uint32_t name, file,
        mapping; /* texts; 0 is "": the part is unknown or not in the granularity */
    uint32_t flags;
    int64_t line;
    uint64_t address;
    uint32_t in_file, in_mapping; /* texts: where the first place met was, whatever the granularity.
                                     For colours and tooltips; frames are not told apart by it */
} frame;

typedef struct frame_table {
    arena *a;
    granularity by;
    VEC(frame) v;   /* by frame id, in order of first use */
    VEC(str) texts; /* names, files and mappings; [0] is "" */
    hash_index by_text, by_key;
} frame_table;

/* An empty table; everything it will hold lives in `a`. */
NODISCARD bool frame_table_init(frame_table *f, granularity by, arena *a, err *e);

static inline str frame_text(const frame_table *f, uint32_t i) { return f->texts.v[i]; }
static inline str frame_label(const frame_table *f, uint32_t i) { return f->v.v[i].label; }

/* What is known of one place, before the granularity takes its parts away. */
typedef struct frame_parts {
    uint32_t name, file, mapping; /* texts */
    int64_t line;
    uint64_t address;
    uint32_t flags;
} frame_parts;

/* Interning: false at the budget. */
NODISCARD bool frame_table_text(frame_table *f, str s, uint32_t *out, err *e);
NODISCARD bool frame_table_add(frame_table *f, const frame_parts *p, uint32_t *out, err *e);

/* Orders by label, for tables whose numbers are equal. */
static inline int frame_cmp(const frame_table *f, uint32_t a, uint32_t b)
{
    return str_cmp(frame_label(f, a), frame_label(f, b));
}

/* A path without "//", "/./" and "x/../" (Go's filepath.Clean): "" stays "".  Memory from `a` when it
 * changes; {NULL, 0} at the budget. */
str path_clean(str path, arena *a);
/* What follows the last slash; "." for "" and "/" for slashes (Go's filepath.Base). */
str path_base(str path);
