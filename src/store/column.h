/* store/column.h - a column of integers as few bytes, and back.  Pure.
 *
 *   [kind][varint: bytes that follow][...]
 *   CONSTANT  the value, zigzag varint
 *   CLASSES   a byte for each value: the bits of |v|, 0x80 when v < 0; zstd.  Then what the classes leave open, the bits of
 *             |v| below the highest, packed from the lowest bit on.  For what is spread over orders of magnitude (distances
 *             in time, ranks of stacks): zstd's entropy coder takes the magnitude, the rest is noise and stays raw.
 *   WORDS     the smallest value, then v - smallest in the fewest bytes that hold all; zstd.  For what repeats.
 * The writer takes what makes a first part of the column smallest. */
#pragma once
#include "store/bytes.h"
#include "base/arena.h"
#include "base/vec.h"

typedef enum zip_effort {
    ZIP_REPEATS, /* looks for what came before, as in texts */
    ZIP_ENTROPY, /* only codes frequent bytes with few bits: several times as fast, and smaller where nothing repeats */
} zip_effort;

/* Contexts of zstd and scratch memory; one thread at a time.  The zero value works. */
typedef struct zipper {
    void *compress[2], *decompress; /* ZSTD_CCtx by zip_effort, ZSTD_DCtx */
    int level;                      /* of ZIP_REPEATS; 0: the usual */
    buf bytes, bits, words, wide;
} zipper;

void zipper_free(zipper *z);

/* Appends: varint length in the clear, varint length of what follows, the bytes (as they are when zstd does not help). */
void put_zipped(buf *out, str in, zip_effort effort, zipper *z);
/* The bytes, in the arena or where they lie; at most max of them.  false: damaged, or the arena's budget. */
NODISCARD bool take_zipped(taker *t, size_t max, zipper *z, arena *a, str *out);

typedef enum column_hint { COLUMN_ANY, COLUMN_NOISE /* does not repeat: do not try */ } column_hint;

void put_column(buf *out, const int64_t *v, size_t n, column_hint hint, zipper *z);
/* The same of narrow ones. */
void put_numbers(buf *out, const uint32_t *v, size_t n, zipper *z);

/* n values into v. */
NODISCARD bool take_column(taker *t, int64_t *v, size_t n, zipper *z);
/* The same, each of which must fit (`limit`: values are below it). */
NODISCARD bool take_column_u32(taker *t, uint32_t *v, size_t n, uint32_t limit, zipper *z);
void skip_column(taker *t);

/* Is the next column constant?  Then its value, and the column is taken. */
NODISCARD bool take_constant(taker *t, int64_t *v);
