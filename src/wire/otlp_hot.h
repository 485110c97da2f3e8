/* wire/otlp_hot.h - the part of the decoder that reads most bytes: dictionary entries and samples.
 *
 * Compiled three times from otlp_hot.inc: portable C, and with AVX2 and AVX-512 for packed indices.
 * cpu.c chooses one.  The fast path has no offsets and no paths: on failure otlp_decode runs
 * otlp_locate over the same bytes to find the position of the error.
 *
 * A varint may be read up to HOT_MARGIN bytes past the end of its message, as long as they are
 * inside the input.  The overrun is detected because the message then ends at the wrong byte.
 * Messages within HOT_MARGIN of the end of the input use the bounded variant of the same code. */
#pragma once
#include "base/arena.h"
#include "model/model.h"
#include "wire/cpu.h"
#include "wire/layout.h"

enum { HOT_MARGIN = 96, HOT_SLACK = 64 /* entries a vector store may write past a pool's end */ };

typedef struct hot {
    const uint8_t
        *safe; /* the last byte of the input with HOT_MARGIN bytes after it, or the first byte */
    arena *a;
    model *m;
    layout layout;
    bool limit; /* failed because of memory, not because of the bytes */

    /* The largest index of each table. */
    uint32_t max_string, max_mapping, max_location, max_function, max_link, max_attribute,
        max_stack;
    uint64_t n_unknown;
    bool refs;    /* string_value_strindex or key_strindex occurred */
    bool lenient; /* accept violations of rules that are valid protobuf */

    u32s stack; /* the stack column of all samples of the message */

    /* Reads the field at p of a Profile that is not a sample; returns the byte after it, or NULL. */
    const uint8_t *(*other)(struct hot *h, const uint8_t *p, const uint8_t *q, profile *out);
} hot;

ALWAYS_INLINE void hot_max(uint32_t *max, uint32_t v)
{
    if (v > *max) *max = v;
}

/* Reads the Profile [p, q) of v1.8 or later: samples into the columns of *out, other fields by
 * h->other. */
typedef bool hot_samples_fn(hot *h, const uint8_t *p, const uint8_t *q, profile *out);

/* Reads the ProfilesDictionary [p, q).  otlp_decode_attribute reads the entries of attribute_table. */
typedef bool hot_dictionary_fn(hot *h, const uint8_t *p, const uint8_t *q);

hot_samples_fn hot_samples_portable, hot_samples_avx2, hot_samples_avx512;
hot_dictionary_fn hot_dictionary_portable, hot_dictionary_avx2, hot_dictionary_avx512;

/* Decodes the packed varints [p, q) to their low 32 bits.  Returns their number, or -1 when the
 * last one is truncated or one is overlong.  Raises *max to the largest.  to[] has room for q - p
 * entries and HOT_SLACK more; at least HOT_MARGIN bytes after q are readable.  fuzz/packed.c
 * compares the variants. */
typedef ptrdiff_t packed_u32_fn(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max);
packed_u32_fn packed_u32_portable, packed_u32_avx2, packed_u32_avx512;

/* Writes n varints that end just before w; returns their start.  There is room for 5n bytes and
 * PACKED_PUT_ROOM more, which may be overwritten. */
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

/* Returns the variant for a mode; the portable one when simd_runs(m) is false. */
const hot_path *hot_path_of(simd_mode m);

/* ---- cold parts of the same walk, in otlp_cold.c ---- */

/* Reads one KeyValueAndUnit [p, q) into *out. */
NODISCARD bool otlp_decode_attribute(hot *h, const uint8_t *p, const uint8_t *q, attribute *out);

/* Skips the field whose tag is at p and counts it as unknown.  Returns the byte after it, or NULL
 * when it is malformed. */
const uint8_t *hot_unknown(hot *h, const uint8_t *p, const uint8_t *q);
