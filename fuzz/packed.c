/* Reads and writes packed indices. The kernels of every SIMD path of this machine must agree with
 * the portable ones, including failures. */
#include "wire/otlp_hot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "does not hold: %s (line %d)\n", #cond, __LINE__);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Reads arbitrary bytes as varints. */
static void read_same(const hot_path *path, const uint8_t *p, size_t n)
{
    uint8_t *in = malloc(n + HOT_MARGIN);
    uint32_t *a = malloc((n + HOT_SLACK) * sizeof *a), *b = malloc((n + HOT_SLACK) * sizeof *b);
    HOLDS(in && a && b);
    /* The bytes after the list, first zeros, then continuation bytes, must not matter. */
    for (int round = 0; round < 2; round++) {
        memset(in + n, round ? 0xff : 0, HOT_MARGIN);
        if (n) memcpy(in, p, n);
        uint32_t max_a = 7, max_b = 7;
        ptrdiff_t got_a = packed_u32_portable(in, in + n, a, &max_a),
                  got_b = path->packed_u32(in, in + n, b, &max_b);
        HOLDS(got_a == got_b);
        HOLDS(got_a <= (ptrdiff_t)n);
        if (got_a >= 0) HOLDS(max_a == max_b);
        if (got_a > 0) HOLDS(memcmp(a, b, (size_t)got_a * sizeof *a) == 0);
    }
    free(in);
    free(a);
    free(b);
}

/* Writes arbitrary numbers and reads them back. */
static void write_same(const hot_path *path, const uint8_t *p, size_t n)
{
    size_t count = n / 4, room = count * 5 + PACKED_PUT_ROOM;
    uint32_t *v = malloc(count * 4 + 1), *back = malloc((room + HOT_SLACK) * sizeof *back);
    uint8_t *a = malloc(room + 1), *b = malloc(room + HOT_MARGIN);
    HOLDS(v && back && a && b);
    if (count) memcpy(v, p, count * 4);
    /* Real indices have few bits: the first number sets how many to keep. */
    uint32_t keep = count && (v[0] & 1) ? (1u << (v[0] >> 1 & 31)) - 1 : UINT32_MAX;
    for (size_t i = 0; i < count; i++) v[i] &= keep;
    uint8_t *x = packed_put_portable(a + room, v, count), *y = path->packed_put(b + room, v, count);
    size_t len = (size_t)(a + room - x);
    HOLDS(len == (size_t)(b + room - y));
    HOLDS(len == 0 || memcmp(x, y, len) == 0);
    uint32_t max = 0;
    HOLDS(path->packed_u32(y, y + len, back, &max) == (ptrdiff_t)count);
    HOLDS(count == 0 || memcmp(back, v, count * 4) == 0);
    free(v);
    free(back);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    for (simd_mode s = SIMD_PORTABLE; s < SIMD_MODES; s++) {
        if (!simd_runs(s)) continue;
        read_same(hot_path_of(s), p, n);
        write_same(hot_path_of(s), p, n);
    }
    return 0;
}
