/* format/pprof_legacy.h - state and helpers of the readers of the older pprof kinds.
 *
 * All of them have stacks of addresses with up to four values, followed by the memory map of the
 * process or, from Java, by the names of the "addresses". The readers collect them; legacy_finish
 * then finds the mapping of each address and builds the model. */
#pragma once
#include "format/pprof_internal.h"
#include "base/text.h"

enum { LEGACY_MAX_TYPES = 4, LEGACY_MAX_DEFINES = 64 /* "build=..." lines of a memory map */ };

typedef struct legacy_location {
    uint64_t address;
    str symbol; /* symbol from a comment, unchanged */
    bool named; /* Java: function, file and line instead of an address */
    str function, file;
    int64_t line;
    uint32_t index; /* index in the model; PP_ABSENT: not added yet */
} legacy_location;

typedef struct legacy_sample {
    span frames; /* range of legacy.frames, leaf first */
    span threads;
    int64_t values[LEGACY_MAX_TYPES];
    int64_t bytes; /* size of one object, when has_bytes */
    bool has_bytes;
} legacy_sample;

typedef struct legacy_thread {
    str name;
    int64_t id;
} legacy_thread;

typedef struct legacy_mapping {
    uint64_t start, limit, offset;
    str file, build_id;
} legacy_mapping;

typedef struct legacy_type {
    str type, unit;
} legacy_type;

typedef struct legacy {
    str in;
    size_t at; /* next byte */

    /* the current line, trimmed */
    str line;
    size_t line_at;
    size_t n_lines;
    bool unended; /* it has no line end, so it may be truncated */

    /* Number of objects or counts according to the heading, if it has one, and number that was
     * read. */
    uint64_t declared, n_read;
    bool cut;

    arena *a;
    builder b;
    err *e;
    ledger *ledger;

    legacy_type types[LEGACY_MAX_TYPES],
        period_type; /* types in pprof's order: the last is the default */
    size_t n_types;
    int64_t period;
    uint64_t duration_nano;
    VEC(legacy_location) locations;
    hash_index by_address;
    VEC(legacy_sample) samples;
    u32s frames;
    VEC(legacy_thread) threads;
    VEC(legacy_mapping) mappings;
    VEC(str) comments;
} legacy;

/* ---- lines ---- */

bool legacy_next_line(legacy *g); /* false at the end */
/* Fails at the current line; always returns false. */
bool legacy_bad(legacy *g, const char *fmt, ...) PRINTF(2, 3);
/* Call after the line of a sample. `ok`: the line was read; `n_before`: number of samples before
 * it. Drops the sample if the line is truncated, because its last address may be incomplete. */
NODISCARD bool legacy_end_sample(legacy *g, size_t n_before, bool ok);
static inline bool legacy_is_comment(str s) { return !s.n || s.p[0] == '#'; }
bool legacy_is_map_heading(str s);

/* ---- text ---- */

str legacy_text(legacy *g, str s); /* valid UTF-8; its p is NULL when out of memory */
str text_trim(str s);
bool text_contains(str s, str sub);
void text_blanks(str *s);
bool text_char(str *s, char c);     /* returns whether c was there and is removed */
bool text_i64(str *s, int64_t *v);  /* decimal, with sign */
bool text_hex(str *s, uint64_t *v); /* with or without 0x, at least one digit */
static inline bool is_hex_digit(char c) { return hex_digit(c) >= 0; }

/* ---- collecting ---- */

/* Returns the location with this address, or PP_ABSENT when out of memory. */
uint32_t legacy_address(legacy *g, uint64_t address);
NODISCARD bool legacy_frame(legacy *g, uint32_t at); /* adds it to the newest sample */
legacy_sample *legacy_new_sample(legacy *g);         /* NULL: out of memory, err is set */

typedef enum legacy_adjust {
    ADJUST_NONE,
    ADJUST_CALLERS, /* subtract 1 from return addresses: from every frame except the leaf */
    ADJUST_ALL,
} legacy_adjust;

/* Adds all 0x... numbers of s as frames of the newest sample. */
NODISCARD bool legacy_addresses(legacy *g, str s, legacy_adjust adjust);
/* Stores the symbol of "#\t0x4f3b7c\tmain.tree+0x3c\t\tdemo/main.go:10". */
NODISCARD bool legacy_symbol_comment(legacy *g);
NODISCARD bool legacy_comment(legacy *g, str text);
/* Drops the second copy of the leaf, which a handler may find in both the stack and the signal
 * context. */
void legacy_drop_double_leaf(legacy *g);

/* Estimates the heap from its samples: multiplies by 1 / (1 - exp(-average size / rate)). */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate);
int64_t legacy_i64(double v); /* saturates */

/* Moves to the heading of the memory map, if there is one, and reads it. */
NODISCARD bool legacy_read_maps(legacy *g);
NODISCARD bool legacy_maps(legacy *g); /* reads from the next line on */
/* Joins split mappings, finds the main binary, and stores the mapping of every location (position +
 * 1, 0: none) in of[]. */
NODISCARD bool legacy_assign_mappings(legacy *g, uint32_t *of);
/* Reads lines " 0x0000004a com.example.f (source.java:4)" up to the end. */
NODISCARD bool legacy_java_names(legacy *g);

NODISCARD bool legacy_finish(legacy *g, model *out);

/* ---- the kinds ---- */

bool legacy_cpu_header(str in, unsigned *word, bool *big, uint64_t *java, uint64_t *period_us);
NODISCARD bool legacy_read_cpu(legacy *g);
NODISCARD bool legacy_read_heap(legacy *g);
NODISCARD bool legacy_read_count(legacy *g);
NODISCARD bool legacy_read_thread(legacy *g);
NODISCARD bool legacy_read_contention(legacy *g);
NODISCARD bool legacy_read_java(legacy *g);
