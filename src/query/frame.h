/* query/frame.h - interned frames of stacks, at a granularity. Tables, trees and pictures show
 * them. Pure.
 *
 * A frame represents all locations of a program that are equal at the granularity: at BY_FUNCTION
 * all locations of a function, at BY_LINE those on one line of it, and so on. Frames are compared
 * by the text of their names, never by indices of a dictionary, so one table can serve several
 * models: `diff` and sums over files use one table for all their views.
 *
 * Labels are those of pprof: "name", "name file:line", "0000000000401136 name file:line", "file",
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

/* Returns "functions", "filefunctions", "files", "lines", "addresses" or "mappings". */
const char *granularity_name(granularity g);

#define NO_FRAME UINT32_MAX
#define PLACE_FRAMES_MAX ((UINT32_C(1) << 31) - 1) /* most frames of a table */

typedef enum frame_flags {
    FRAME_INLINED = 1, /* some location has it as an inlined call */
    FRAME_CALLED = 2,  /* some location has it as a call that is not inlined */
    FRAME_TAG = 4,     /* not code, but a value of --tagroot or --tagleaf */
    FRAME_ONCE = 8,    /* adjacent occurrences in a stack are one frame: --collapse-library and
                          --collapse-direct-recursion */
    FRAME_LOOP = 16,   /* a stack has it once, without the calls in between: --collapse-recursion */
} frame_flags;

typedef struct frame {
    str label; /* shown to users; UTF-8, not empty */
    uint32_t name, file,
        mapping; /* texts; 0 is "": the part is unknown or not in the granularity */
    uint32_t flags;
    int64_t line;
    uint64_t address;
    uint32_t in_file,
        in_mapping; /* texts: file and mapping of the first location, at any granularity. For
                                     colours and tooltips; not part of the identity of a frame */
    uint32_t at;    /* scratch of view_frames: where the frame is in the current stack */
} frame;

typedef struct frame_table {
    arena *a;
    granularity by;
    VEC(frame) v;   /* by frame id, in order of first use */
    VEC(str) texts; /* names, files and mappings; [0] is "" */
    hash_index by_text, by_key;
} frame_table;

/* Initializes an empty table.  Its contents live in `a`. */
NODISCARD bool frame_table_init(frame_table *f, granularity by, arena *a, err *e);

static inline str frame_text(const frame_table *f, uint32_t i) { return f->texts.v[i]; }
static inline str frame_label(const frame_table *f, uint32_t i) { return f->v.v[i].label; }

/* All parts of a location's line, before the granularity removes some. */
typedef struct frame_parts {
    uint32_t name, file, mapping; /* texts */
    int64_t line;
    uint64_t address;
    uint32_t flags;
} frame_parts;

/* Intern a text or a frame.  ERR_LIMIT, ERR_MEMORY. */
NODISCARD bool frame_table_text(frame_table *f, str s, uint32_t *out, err *e);
NODISCARD bool frame_table_add(frame_table *f, const frame_parts *p, uint32_t *out, err *e);

/* Orders by label, for tables whose numbers are equal. */
static inline int frame_cmp(const frame_table *f, uint32_t a, uint32_t b)
{
    return str_cmp(frame_label(f, a), frame_label(f, b));
}

/* Returns the path without "//", "/./" and "x/../", like Go's filepath.Clean, except that ""
 * stays "".  Uses memory from `a` if the path changes; {NULL, 0} when out of memory. */
str path_clean(str path, arena *a);
/* Returns the part after the last slash; "." for "" and "/" for slashes, like Go's
 * filepath.Base. */
str path_base(str path);
