/* wire/otlp_hot.h - the part of the decoder that sees every byte: dictionary entries and samples.
 *
 * Compiled three times from otlp_hot.inc: portable C, and with AVX2 and AVX-512 for packed indices.
 * cpu.c chooses.  Nothing here says where an error is: a failure makes otlp_decode run otlp_locate over the same bytes, which
 * knows.  So the fast path carries no offsets and no paths.
 *
 * Reading past a message: a varint may be read up to HOT_MARGIN bytes past the end of its message as
 * long as that is still inside the input; running over is noticed when the message ends at the wrong
 * byte.  Messages within HOT_MARGIN of the end of the input take the bounded twin of the same code. */
#pragma once
#include "base/arena.h"
#include "model/model.h"
#include "wire/cpu.h"
#include "wire/layout.h"

enum { HOT_MARGIN = 96, HOT_SLACK = 64 /* entries a vector store may write past a pool's end */ };

typedef struct hot {
    const uint8_t
        *safe; /* the last byte of the input that has HOT_MARGIN behind it, or its begin */
    arena *a;
    model *m;
    layout layout;
    bool limit; /* failed for lack of memory rather than because of the bytes */

    /* Largest index met, per table. */
    uint32_t max_string, max_mapping, max_location, max_function, max_link, max_attribute,
        max_stack;
    uint64_t n_unknown;
    bool refs;    /* string_value_strindex or key_strindex occurred */
    bool lenient; /* keep what breaks a rule but not the wire */

    u32s stack; /* column of all samples of the message */

    /* Takes the field at p of a Profile that is no sample; the byte after it, or NULL. */
    const uint8_t *(*other)(struct hot *h, const uint8_t *p, const uint8_t *q, profile *out);
} hot;

ALWAYS_INLINE void hot_max(uint32_t *max, uint32_t v)
{
    if (v > *max) *max = v;
}

/* The Profile message [p, q): samples into the columns of *out, other fields to h->other.  Layouts
 * v1.8 and later. */
typedef bool hot_samples_fn(hot *h, const uint8_t *p, const uint8_t *q, profile *out);

/* A ProfilesDictionary [p, q): all tables but attribute_table, whose entries are handed to
 * otlp_decode_attribute. */
typedef bool hot_dictionary_fn(hot *h, const uint8_t *p, const uint8_t *q);

hot_samples_fn hot_samples_portable, hot_samples_avx2, hot_samples_avx512;
hot_dictionary_fn hot_dictionary_portable, hot_dictionary_avx2, hot_dictionary_avx512;

/* Packed varints [p, q) to the low 32 bits each; the count, or -1 when the last one is cut off or
 * one is overlong.  *max becomes the largest.  to[] has room for q - p entries and HOT_SLACK more; at
 * least HOT_MARGIN bytes after q are readable.  All give the same answer: fuzz/packed.c. */
typedef ptrdiff_t packed_u32_fn(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max);
packed_u32_fn packed_u32_portable, packed_u32_avx2, packed_u32_avx512;

/* n varints that end just before w; returns where they begin.  There is room for 5n bytes and
 * PACKED_PUT_ROOM more, which may be written to. */
enum { PACKED_PUT_ROOM = 64 };
typedef uint8_t *packed_put_fn(uint8_t *w, const uint32_t *v, size_t n);
packed_put_fn packed_put_portable, packed_put_avx2, packed_put_avx512;

/* One compiled variant. */
typedef struct hot_path {
    hot_samples_fn *samples;
    hot_dictionary_fn *dictionary;
    packed_u32_fn *packed_u32;
    packed_put_fn *packed_put;
} hot_path;

/* The variant of that mode; the portable one where simd_runs(m) is false. */
const hot_path *hot_path_of(simd_mode m);

/* ---- cold parts of the same walk, in otlp_cold.c ---- */

/* One KeyValueAndUnit [p, q) into *out. */
NODISCARD bool otlp_decode_attribute(hot *h, const uint8_t *p, const uint8_t *q, attribute *out);

/* Steps over one field at p (its tag included) that no fast case knows; counts it as unknown.  NULL
 * when it is malformed. */
const uint8_t *hot_unknown(hot *h, const uint8_t *p, const uint8_t *q);
