/* store/column.h - encodes a column of integers in few bytes, and decodes it. Pure.
 *
 *   [kind][varint: bytes that follow][...]
 *   CONSTANT  the value, zigzag varint
 *   CLASSES   one byte for each value: the number of bits of |v|, 0x80 when v < 0; zstd. Then the
 *             bits of |v| below the highest, packed from the lowest bit on. For values spread over
 *             orders of magnitude (time differences, ranks of stacks): zstd codes the magnitudes,
 *             the other bits are noise and stay as they are.
 *   WORDS     the smallest value, then v - smallest in the fewest bytes that fit all; zstd. For
 *             values that repeat.
 *
 * The encoder tries the first part of the column and chooses the shortest encoding. */
#pragma once
#include "store/bytes.h"
#include "base/arena.h"
#include "base/vec.h"

typedef enum zip_effort {
    ZIP_REPEATS, /* finds repeated sequences, as in text */
    /* codes frequent bytes with few bits: several times as fast, and smaller where nothing
     * repeats */
    ZIP_ENTROPY,
} zip_effort;

/* Contexts of zstd and scratch memory, for one thread at a time. The zero value is valid. */
typedef struct zipper {
    void *compress[2], *decompress; /* ZSTD_CCtx by zip_effort, ZSTD_DCtx */
    int level;                      /* for ZIP_REPEATS; 0: the default */
    buf bytes, bits, words, wide;
} zipper;

void zipper_free(zipper *z);

/* Appends: varint uncompressed length, varint length of the rest, the bytes (uncompressed when zstd
 * does not help). */
void put_zipped(buf *out, str in, zip_effort effort, zipper *z);
/* Sets *out to the uncompressed bytes, in the arena or as a view. Returns false when the data is
 * damaged or longer than `max`, or the arena's budget is spent. */
NODISCARD bool take_zipped(taker *t, size_t max, zipper *z, arena *a, str *out);

/* COLUMN_NOISE: the values do not repeat, so that only one encoding is tried. */
typedef enum column_hint { COLUMN_ANY, COLUMN_NOISE } column_hint;

void put_column(buf *out, const int64_t *v, size_t n, column_hint hint, zipper *z);
/* Like put_column, for 32-bit values. */
void put_numbers(buf *out, const uint32_t *v, size_t n, zipper *z);

/* Decodes n values into v. Returns false when the column is damaged. */
NODISCARD bool take_column(taker *t, int64_t *v, size_t n, zipper *z);
/* Like take_column, but each value must be below `limit`. */
NODISCARD bool take_column_u32(taker *t, uint32_t *v, size_t n, uint32_t limit, zipper *z);
void skip_column(taker *t);

/* If the next column is constant, consumes it and returns its value. */
NODISCARD bool take_constant(taker *t, int64_t *v);
