/* The AVX2 variant of otlp_hot.inc.  AVX2 has no compress instruction, so a table holds the byte
 * order for each mask.  The tables have 2 KB and 4 KB, so they fit in L1.  pext and pdep would need
 * no tables, but take up to 300 cycles on AMD Zen 1 and 2, which have AVX2 too. */
#include "wire/otlp_hot.h"

#include "wire/varint.h"

#include "base/ban.h"
#include <immintrin.h>

#define EVERY_4(ROW, m) ROW(m), ROW((m) + 1), ROW((m) + 2), ROW((m) + 3)
#define EVERY_16(ROW, m)                                                                           \
    EVERY_4(ROW, m), EVERY_4(ROW, (m) + 4), EVERY_4(ROW, (m) + 8), EVERY_4(ROW, (m) + 12)
#define EVERY_64(ROW, m)                                                                           \
    EVERY_16(ROW, m), EVERY_16(ROW, (m) + 16), EVERY_16(ROW, (m) + 32), EVERY_16(ROW, (m) + 48)
#define EVERY_256(ROW)                                                                             \
    EVERY_64(ROW, 0u), EVERY_64(ROW, 64u), EVERY_64(ROW, 128u), EVERY_64(ROW, 192u)

/* ---- reading ---- */

/* Row m holds the indices of the set bits of m, one per byte, lowest first.  The rest is 0x80,
 * which pshufb turns into 0. */
#define FILL(m) (UINT64_C(0x8080808080808080) << 4 * POPCOUNT(m) << 4 * POPCOUNT(m))
#define POPCOUNT(m) __builtin_popcount(m)
#define BIT(m, i) ((uint64_t)((m) >> (i)&1) * (i) << 8 * POPCOUNT((m) & ((1u << (i)) - 1)))
#define BITS(m)                                                                                    \
    (FILL(m) | BIT(m, 1u) | BIT(m, 2u) | BIT(m, 3u) | BIT(m, 4u) | BIT(m, 5u) | BIT(m, 6u) |       \
     BIT(m, 7u))
static const uint64_t bit_numbers[256] = {EVERY_256(BITS)};

/* Decodes the varints at the byte offsets `starts` of x into eight lanes.  A lane receives the four
 * bytes from its start.  Bytes after the end of the varint are cleared, and two multiply-adds join
 * the 7-bit groups: b0 + b1*2^7 in 16 bits, then lo + hi*2^14 in 32. */
ALWAYS_INLINE __m256i join_8(__m256i x, uint64_t starts)
{
    const __m256i lanes = _mm256_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4,
                                           4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    __m256i at = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)starts), lanes);
    __m256i b = _mm256_shuffle_epi8(x, _mm256_add_epi8(at, _mm256_set1_epi32(0x03020100)));
    /* Bits up to and including the first clear high bit: t ^ (t - 1) of the terminators. */
    __m256i t = _mm256_andnot_si256(b, _mm256_set1_epi32((int)0x80808080));
    __m256i keep = _mm256_xor_si256(t, _mm256_add_epi32(t, _mm256_set1_epi32(-1)));
    b = _mm256_and_si256(_mm256_and_si256(b, keep), _mm256_set1_epi32(0x7f7f7f7f));
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi16((short)0x8001), b),
                             _mm256_set1_epi32(0x40000001));
}

ALWAYS_INLINE uint32_t largest_of_4(__m128i v)
{
    v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0x4e));
    v = _mm_max_epu32(v, _mm_shuffle_epi32(v, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(v);
}

ALWAYS_INLINE uint32_t largest_of_8(__m256i v)
{
    return largest_of_4(_mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

ALWAYS_INLINE uint64_t high_bits_64(const uint8_t *p)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p),
            b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

/* Reads 64 bytes per step.  A byte without the high bit ends a varint, so the byte after it starts
 * one. The varints that start in a group of 8 bytes are decoded into 8 lanes.  All 8 are stored;
 * the store of the next group overwrites the unused ones.
 *
 * A varint of more than four bytes (an index of 2^28 or a negative one) takes one scalar step. */
ALWAYS_INLINE ptrdiff_t packed_vector(const uint8_t *p, const uint8_t *q, uint32_t *to,
                                      uint32_t *max)
{
    __m256i top = _mm256_setzero_si256();
    uint32_t top_scalar = *max, *d = to;
    while (p < q) {
        size_t left = (size_t)(q - p);
        uint64_t inside = left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
        uint64_t more = high_bits_64(p), ends = ~more & inside;
        if (UNLIKELY(!ends)) return -1; /* truncated, or longer than 64 bytes */
        unsigned last = 63 - (unsigned)__builtin_clzll(ends);
        uint64_t window = ~(uint64_t)0 >> (63 - last);
        if (UNLIKELY(more & more >> 1 & more >> 2 & more >> 3 & window)) {
            uint64_t v;
            p = take_varint(p, q, &v, false);
            if (UNLIKELY(!p || p > q)) return -1;
            *d++ = (uint32_t)v;
            if ((uint32_t)v > top_scalar) top_scalar = (uint32_t)v;
            continue;
        }
        uint64_t begins = (ends << 1 | 1) & window;
        for (const uint8_t *at = p; begins; at += 8, begins >>= 8) {
            __m256i x =
                _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)at));
            __m256i b = join_8(x, bit_numbers[begins & 0xff]);
            top = _mm256_max_epu32(top, b);
            _mm256_storeu_si256((__m256i *)(void *)d, b);
            d += POPCOUNT((unsigned)begins & 0xff);
        }
        p += last + 1;
    }
    uint32_t top_vector = largest_of_8(top);
    *max = top_vector > top_scalar ? top_vector : top_scalar;
    return d - to;
}

ptrdiff_t packed_u32_avx2(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max)
{
    return packed_vector(p, q, to, max);
}

enum { FEW_BYTES = 8 };

/* Decodes at most eight bytes without branching on the number of varints in them.  Returns -1 when
 * a varint has more than four bytes or is truncated. */
ALWAYS_INLINE ptrdiff_t packed_few(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max)
{
    unsigned inside = (1u << (q - p)) - 1;
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    unsigned more = (unsigned)_mm_movemask_epi8(x), ends = ~more & inside;
    if (UNLIKELY((more & more >> 1 & more >> 2 & more >> 3 & inside) ||
                 (more & inside & ~(inside >> 1))))
        return -1;
    __m256i b = join_8(_mm256_broadcastsi128_si256(x), bit_numbers[(ends << 1 | 1) & inside]);
    _mm256_storeu_si256((__m256i *)(void *)to, b);
    uint32_t largest = largest_of_8(b);
    *max = largest > *max ? largest : *max;
    return POPCOUNT(ends);
}

/* Reads one varint of up to eight bytes without branching on its length: joins pairs of groups
 * three times. */
ALWAYS_INLINE const uint8_t *varint_any(const uint8_t *p, const uint8_t *q, uint64_t *v)
{
    uint64_t w;
    memcpy(&w, p, 8);
    uint64_t ends = ~w & 0x8080808080808080u;
    if (UNLIKELY(!ends)) return take_varint(p, q, v, false);
    w &= ends ^ (ends - 1);
    w = (w & 0x007f007f007f007fu) | (w & 0x7f007f007f007f00u) >> 1;
    w = (w & 0x00003fff00003fffu) | (w & 0x3fff00003fff0000u) >> 2;
    *v = (w & 0x000000000fffffffu) | (w & 0x0fffffff00000000u) >> 4;
    return p + ((unsigned)__builtin_ctzll(ends) >> 3) + 1;
}

#define HOT(name) name##_avx2
#define HOT_PACKED packed_vector
#define HOT_FEW FEW_BYTES
#define HOT_PACKED_FEW packed_few
#define HOT_VARINT varint_any
#include "wire/otlp_hot.inc"

/* ---- writing ---- */

__extension__ typedef unsigned __int128 row_16;

/* Row m gathers the used bytes of four lanes at the end of the register.  Lane i has LEN(m, i)
 * bytes: 1, and 1 more for bit i of m, and 2 more for bit i + 4. */
#define LEN(m, i) (1 + ((m) >> (i)&1) + ((m) >> ((i) + 4) & 1) * 2)
#define FROM(m, i) /* total bytes of lane i and the lanes after it */                              \
    (LEN(m, 3) + ((i) < 3 ? LEN(m, 2) : 0) + ((i) < 2 ? LEN(m, 1) : 0) + ((i) < 1 ? LEN(m, 0) : 0))
#define BYTE(m, i, k)                                                                              \
    ((row_16)(LEN(m, i) > (k)) * (4 * (i) + (k)) << 8 * ((16 - FROM(m, i) + (k)) & 15))
#define LANE(m, i) (BYTE(m, i, 0) | BYTE(m, i, 1) | BYTE(m, i, 2) | BYTE(m, i, 3))
#define UNUSED(m)                                                                                  \
    (((row_16)0x8080808080808080u << 64 | 0x8080808080808080u) >> 4 * FROM(m, 0) >> 4 * FROM(m, 0))
#define TOGETHER(m) (UNUSED(m) | LANE(m, 0) | LANE(m, 1) | LANE(m, 2) | LANE(m, 3))
static const row_16 together[256] = {EVERY_256(TOGETHER)};

ALWAYS_INLINE void put_together(uint8_t *w, __m128i y, unsigned lengths)
{
    __m128i order = _mm_load_si128((const __m128i *)(const void *)&together[lengths]);
    _mm_storeu_si128((__m128i *)(void *)(w - 16), _mm_shuffle_epi8(y, order));
}

/* Writes eight indices per step, the last ones first.  Spreads the 7-bit groups of a lane over its
 * four bytes.  Comparisons count the used bytes, which selects the row of the table for each half.
 * Each store ends just before w and writes up to 16 bytes, so PACKED_PUT_ROOM bytes below w must be
 * writable; the next store overwrites them.  If n is not a multiple of 8, the first step places its
 * lanes at the end of the register; the leading zero lanes do not count. */
uint8_t *packed_put_avx2(uint8_t *w, const uint32_t *v, size_t n)
{
    const __m256i ramp = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    while (n) {
        int k = n < 8 ? (int)n : 8;
        n -= (size_t)k;
        __m256i x;
        if (LIKELY(k == 8)) {
            x = _mm256_loadu_si256((const __m256i *)(const void *)(v + n));
        } else {
            __m256i here = _mm256_cmpgt_epi32(_mm256_set1_epi32(k), ramp);
            x = _mm256_maskload_epi32((const int *)(const void *)v, here);
            x = _mm256_permutevar8x32_epi32(x, _mm256_add_epi32(ramp, _mm256_set1_epi32(k)));
        }
        if (UNLIKELY(!_mm256_testz_si256(x, _mm256_set1_epi32((int)0xf0000000)))) {
            w = packed_put_portable(w, v + n, (size_t)k); /* rare: an index of five bytes */
            continue;
        }
        __m256i over_1 = _mm256_cmpgt_epi32(x, _mm256_set1_epi32((1 << 7) - 1)),
                over_2 = _mm256_cmpgt_epi32(x, _mm256_set1_epi32((1 << 14) - 1)),
                over_3 = _mm256_cmpgt_epi32(x, _mm256_set1_epi32((1 << 21) - 1));
        __m256i y = _mm256_or_si256(
            _mm256_and_si256(x, _mm256_set1_epi32(0x3fff)),
            _mm256_and_si256(_mm256_slli_epi32(x, 2), _mm256_set1_epi32(0x3fff0000)));
        y = _mm256_or_si256(
            _mm256_and_si256(y, _mm256_set1_epi32(0x007f007f)),
            _mm256_and_si256(_mm256_slli_epi32(y, 1), _mm256_set1_epi32(0x7f007f00)));
        __m256i more =
            _mm256_or_si256(_mm256_and_si256(over_1, _mm256_set1_epi32(0x80)),
                            _mm256_or_si256(_mm256_and_si256(over_2, _mm256_set1_epi32(0x8000)),
                                            _mm256_and_si256(over_3, _mm256_set1_epi32(0x800000))));
        y = _mm256_or_si256(y, more);
        unsigned more_bytes = (unsigned)_mm256_movemask_epi8(more);
        unsigned twos = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(over_2)),
                 ones = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(
                     _mm256_xor_si256(over_1, _mm256_xor_si256(over_2, over_3))));
        put_together(w, _mm256_extracti128_si256(y, 1), (twos & 0xf0) | ones >> 4);
        w -= 4 + POPCOUNT(more_bytes >> 16);
        put_together(w, _mm256_castsi256_si128(y), (twos & 15) << 4 | (ones & 15));
        w -= k - 4 + POPCOUNT(more_bytes & 0xffff);
    }
    return w;
}
