/* wire/swar.h - processes eight bytes at a time in a 64-bit word.  The first byte of the text is the
 * lowest byte of the word. */
#pragma once
#include "base/compiler.h"
#include <string.h>

static inline uint64_t load8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

static inline void store8(void *p, uint64_t w)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    memcpy(p, &w, 8);
}

/* Returns a word of eight equal bytes. */
static inline uint64_t bytes8(unsigned char c) { return UINT64_C(0x0101010101010101) * c; }

/* Returns how many of the first bytes are decimal digits, 0 to 8. */
static inline size_t digits8(uint64_t w)
{
    uint64_t d = w ^ bytes8('0');
    uint64_t other = (d | (d + bytes8(0x76))) & bytes8(0x80); /* above 9: 10 + 0x76 has bit 7 */
    return other ? (size_t)__builtin_ctzll(other) / 8 : 8;
}

/* Returns the value of the first n digits (0 to 8): pads with leading zeros, then combines pairs,
 * fours and eights. */
static inline uint64_t digits8_value(uint64_t w, size_t n)
{
    unsigned half = 4 * (unsigned)(8 - n); /* a shift by 64 is undefined; two by 32 are not */
    w = (w ^ bytes8('0')) << half << half;
    w = (w * 10 + (w >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    w = (w * 100 + (w >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (w * 10000 + (w >> 32)) & UINT64_C(0xffffffff);
}

static inline uint64_t pow10_8(size_t n) /* n at most 8 */
{
    static const uint32_t pow[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    return pow[n];
}
