/* wire/varint.h - reads one varint, for the hot decoder. */
#pragma once
#include "base/compiler.h"

/* Reads bytes 6 to 10 of a long varint, which only addresses and negative numbers have. */
static NOINLINE const uint8_t *varint_tail(const uint8_t *p, uint64_t *v, uint64_t low)
{
    for (unsigned i = 5; i < 10; i++) {
        uint64_t b = p[i];
        if (i == 9 && b > 1) return NULL; /* does not fit in 64 bits */
        low += (b - 1) << (7 * i);        /* removes the continuation bit of the byte before */
        if (b < 0x80) {
            *v = low;
            return p + i + 1;
        }
    }
    return NULL;
}

static NOINLINE const uint8_t *varint_bounded(const uint8_t *p, const uint8_t *q, uint64_t *v)
{
    uint64_t r = 0;
    for (unsigned shift = 0; shift < 70 && p < q; shift += 7) {
        uint64_t b = *p++;
        if (shift == 63 && b > 1) return NULL;
        r |= (b & 0x7f) << shift;
        if (b < 0x80) {
            *v = r;
            return p;
        }
    }
    return NULL;
}

/* Reads the varint at p.  Returns the byte after it, or NULL when it is overlong or, with `near`,
 * which bounds it by q, truncated. Uses branches because lengths are predictable; a table or pext
 * would be a serial dependency. */
ALWAYS_INLINE const uint8_t *take_varint(const uint8_t *p, const uint8_t *q, uint64_t *v,
                                         const bool near)
{
    if (near) return varint_bounded(p, q, v);
    uint64_t b, r = p[0];
    if (LIKELY(r < 0x80)) return *v = r, p + 1;
    b = p[1], r += (b - 1) << 7;
    if (LIKELY(b < 0x80)) return *v = r, p + 2;
    b = p[2], r += (b - 1) << 14;
    if (LIKELY(b < 0x80)) return *v = r, p + 3;
    b = p[3], r += (b - 1) << 21;
    if (b < 0x80) return *v = r, p + 4;
    b = p[4], r += (b - 1) << 28; /* async-profiler pads its lengths to five bytes */
    if (b < 0x80) return *v = r, p + 5;
    return varint_tail(p, v, r);
}
