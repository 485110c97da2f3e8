/* wire/detect.h - walks a message strictly by the tables of one layout, for detect.c.
 *
 *   pass    STRICT    packed lists, singular fields once: the output of encoders
 *           LOOSE     also unpacked lists and repeated singular fields (they merge)
 *           UNKNOWN   also field numbers above the highest known one: a newer sender
 *   round   GLANCE    reads the first 4 elements of each parent; enough for nearly all messages
 *           LOOK      reads 256 elements, and counts the entries of the tables
 *           STUDY     reads 4096 elements, and the tags of all others */
#pragma once
#include "wire/layout.h"
#include "wire/schema.h"

enum { PROBE_MARKS = 128 }; /* size of the hash set of fields: a layout has at most 98 */

typedef enum probe_round { GLANCE, LOOK, STUDY, ROUND_COUNT } probe_round;
typedef enum probe_pass { PASS_STRICT, PASS_LOOSE, PASS_UNKNOWN, PASS_COUNT } probe_pass;

/* The number of entries of a table, and the largest index into it. */
typedef struct probe_table {
    uint64_t n;    /* entries */
    uint64_t need; /* largest index + 1 */
    const message_desc *m;
    const field_desc *f;
    const uint8_t *at;
} probe_table;

typedef struct probe_mark {
    const message_desc *m;
    const field_desc *f;
} probe_mark;

typedef struct probe {
    layout layout;
    probe_pass pass;
    probe_round round;
    const uint8_t *base;
    size_t bytes, tags; /* number that may still be read */
    bool cut;           /* some elements were not read */
    bool brief;         /* the caller does not need texts */
    unsigned partial;   /* bit per table: its size is not known */

    struct probe_step *path;       /* PROBE_DEPTH steps */
    probe_mark marks[PROBE_MARKS]; /* hash set of the fields that are present */
    probe_table tables[TABLE_COUNT];
    uint64_t known, unknown; /* fields */
    bool is_v9, is_v10; /* a Sample shows that field 2 holds values, or that it holds attributes */

    bool failed;
    uint64_t at;               /* byte of the violation */
    char why[128], where[128]; /* its reason and path */
    char range[160];           /* the first index outside its table; "" */
    char no_format[64];        /* a payload without a format, weaker evidence than an index; "" */
    char newer[64];            /* the first unknown field; "" */
} probe;

/* Walks in[0..n) by the tables of layout l. */
void probe_run(probe *p, layout l, probe_pass how, probe_round r, bool brief, const uint8_t *in,
               size_t n);

/* ---- fields ---- */

typedef struct wire_field {
    uint32_t number, wire;
    uint64_t value;      /* fixed32, fixed64: only whether it is 0 */
    const uint8_t *data; /* length-delimited: its bytes, which may extend past the end */
} wire_field;

/* Reads the field at *at.  Returns NULL, or a text that describes the fault.  Sets *at to the byte
 * after the field, or to `end` if the field extends past it. */
const char *probe_next(const uint8_t **at, const uint8_t *end, wire_field *f);
/* Returns whether the field has the wire type of the table or, except in STRICT, is an unpacked
 * list. */
bool probe_right_wire(probe_pass how, const field_desc *f, uint32_t wire);
