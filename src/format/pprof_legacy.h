/* format/pprof_legacy.h - what the readers of the older kinds share.
 *
 * All of them are stacks of addresses with up to four values, followed by the memory map of the
 * process or, from Java, by the names of the "addresses".  They are collected first; legacy_finish
 * then finds the mapping of each address and builds the model. */
#pragma once
#include "format/pprof_internal.h"

enum { LEGACY_MAX_TYPES = 4, LEGACY_MAX_DEFINES = 64 /* "build=..." lines of a memory map */ };

typedef struct legacy_location {
    uint64_t address;
    str symbol; /* what a comment says about it, as written */
    bool named; /* Java: function, file and line instead of an address */
    str function, file;
    int64_t line;
    uint32_t index; /* in the model; PP_NOBODY: not there yet */
} legacy_location;

typedef struct legacy_sample {
    span frames; /* in legacy.frames, leaf first */
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

    /* the line at hand, without its end and the blanks around it */
    str line;
    size_t line_at;
    size_t n_lines;
    bool unended; /* nothing ends it: the text may have been cut off in it */

    /* What the heading says there is, where it does, and what was met; objects or counts. */
    uint64_t declared, met;
    bool cut;

    arena *a;
    builder b;
    err *e;
    ledger *ledger;

    legacy_type types[LEGACY_MAX_TYPES],
        period_type; /* in pprof's order: the last is the default */
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
/* Fails at the line at hand; always false. */
bool legacy_bad(legacy *g, const char *fmt, ...) PRINTF(2, 3);
bool legacy_limit(legacy *g); /* ERR_LIMIT; always false */
/* After the line of a sample, whose reading went well or not; `whole` samples were there before it.  A line that was cut off costs its
 * sample and no more: addresses may have lost their last digits. */
NODISCARD bool legacy_whole(legacy *g, size_t whole, bool ok);
static inline bool legacy_is_comment(str s) { return !s.n || s.p[0] == '#'; }
bool legacy_is_map_heading(str s);

/* ---- text ---- */

str legacy_text(legacy *g, str s); /* valid UTF-8; its p is NULL when out of memory */
str text_trim(str s);
bool text_contains(str s, str sub);
void text_blanks(str *s);
bool text_char(str *s, char c);     /* true: taken */
bool text_i64(str *s, int64_t *v);  /* decimal, with sign */
bool text_hex(str *s, uint64_t *v); /* with or without 0x, at least one digit */
static inline bool is_hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* ---- collecting ---- */

/* The location with this address; PP_NOBODY: out of memory. */
uint32_t legacy_address(legacy *g, uint64_t address);
NODISCARD bool legacy_frame(legacy *g, uint32_t at); /* to the newest sample */
legacy_sample *legacy_new_sample(legacy *g);         /* NULL: out of memory, err is set */

typedef enum legacy_adjust {
    ADJUST_NONE,
    ADJUST_CALLERS, /* every frame but the leaf is a return address: one less is in the call */
    ADJUST_ALL,
} legacy_adjust;

/* All 0x... numbers of s as frames of the newest sample. */
NODISCARD bool legacy_addresses(legacy *g, str s, legacy_adjust adjust);
/* "#\t0x4f3b7c\tmain.tree+0x3c\t\tdemo/main.go:10": remembers what it says. */
NODISCARD bool legacy_symbol_comment(legacy *g);
NODISCARD bool legacy_comment(legacy *g, str text);
/* The handler found the leaf twice, from the stack and from the signal: drops the second. */
void legacy_drop_double_leaf(legacy *g);

/* n / (1 - exp(-size / rate)): what a sampled heap stands for. */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate);
int64_t legacy_i64(double v); /* saturates */

/* Goes on to the heading of the memory map, if there is one, and reads it. */
NODISCARD bool legacy_read_maps(legacy *g);
NODISCARD bool legacy_maps(legacy *g); /* from the next line on */
/* Joins what was split, finds the main binary, and gives every location its mapping (position + 1, 0:
 * none) in of[]. */
NODISCARD bool legacy_assign_mappings(legacy *g, uint32_t *of);
/* " 0x0000004a com.example.f (source.java:4)" lines up to the end. */
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
