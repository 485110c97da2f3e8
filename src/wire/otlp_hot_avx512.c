/* The AVX-512 variant of otlp_hot.inc: reads and writes packed indices with compress and
 * multishift. */
#include "wire/otlp_hot.h"

#include "wire/varint.h"

#include "base/ban.h"
#include <immintrin.h>

static const uint8_t byte_ramp[64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Reads 64 bytes per step.  A byte without the high bit ends a varint, so the byte after it starts
 * one:
 *
 *   starts   positions of the first bytes, 8 bits each, compressed to the front
 *   then for 16 varints at a time: the four bytes from each start gathered into a lane (vpermb),
 *   bytes after the end cleared, and the 7-bit groups joined by two multiply-adds:
 *   b0 + b1*2^7 in 16 bits, then lo + hi*2^14 in 32.
 *
 * A varint of more than four bytes (an index of 2^28 or a negative one) takes one scalar step. */
ALWAYS_INLINE ptrdiff_t packed_vector(const uint8_t *p, const uint8_t *q, uint32_t *to,
                                      uint32_t *max)
{
    const __m512i positions = _mm512_loadu_si512(byte_ramp);
    const __m512i spread = _mm512_set1_epi32(0x03020100), sixteen = _mm512_set1_epi8(16);
    const __m512i first_16 = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_setr_epi32(0, 0x01010101, 0x02020202, 0x03030303, 0x04040404,
                                                 0x05050505, 0x06060606, 0x07070707)),
        _mm256_setr_epi32(0x08080808, 0x09090909, 0x0a0a0a0a, 0x0b0b0b0b, 0x0c0c0c0c, 0x0d0d0d0d,
                          0x0e0e0e0e, 0x0f0f0f0f),
        1);
    const __m512i high = _mm512_set1_epi32((int)0x80808080), low = _mm512_set1_epi32(0x7f7f7f7f);
    const __m512i mul_7 = _mm512_set1_epi16((short)0x8001), mul_14 = _mm512_set1_epi32(0x40000001);
    __m512i top = _mm512_setzero_si512();
    uint32_t top_scalar = *max, *d = to;
    while (p < q) {
        size_t left = (size_t)(q - p);
        uint64_t inside = left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
        __m512i x = _mm512_loadu_si512(p);
        uint64_t more = _mm512_movepi8_mask(x), ends = ~more & inside;
        if (UNLIKELY(!ends)) {
            /* No varint ends in this window: it is truncated, or longer than 64 bytes. */
            return -1;
        }
        unsigned used = 64 - (unsigned)__builtin_clzll(ends);
        uint64_t window = used == 64 ? ~(uint64_t)0 : ((uint64_t)1 << used) - 1;
        if (UNLIKELY(more & more >> 1 & more >> 2 & more >> 3 & window)) {
            uint64_t v;
            p = take_varint(p, q, &v, false);
            if (UNLIKELY(!p || p > q)) return -1;
            *d++ = (uint32_t)v;
            if ((uint32_t)v > top_scalar) top_scalar = (uint32_t)v;
            continue;
        }
        uint64_t begins = (ends << 1 | 1) & window;
        unsigned n = (unsigned)__builtin_popcountll(begins);
        __m512i starts = _mm512_maskz_compress_epi8(begins, positions);
        __m512i lane = first_16; /* lane i has start i in all four bytes */
        for (unsigned k = 0; k < n; k += 16) {
            __m512i at = _mm512_add_epi8(_mm512_permutexvar_epi8(lane, starts), spread);
            __m512i b = _mm512_permutexvar_epi8(at, x);
            /* Bits up to and including the first clear high bit: t ^ (t - 1) of the terminators. */
            __m512i t = _mm512_andnot_si512(b, high);
            __m512i keep = _mm512_xor_si512(t, _mm512_sub_epi32(t, _mm512_set1_epi32(1)));
            b = _mm512_and_si512(_mm512_and_si512(b, keep), low);
            b = _mm512_madd_epi16(_mm512_maddubs_epi16(mul_7, b), mul_14);
            if (k + 16 > n) b = _mm512_maskz_mov_epi32((__mmask16)((1u << (n - k)) - 1), b);
            top = _mm512_max_epu32(top, b);
            _mm512_storeu_si512(d + k, b);
            lane = _mm512_add_epi8(lane, sixteen);
        }
        d += n;
        p += used;
    }
    uint32_t top_vector = _mm512_reduce_max_epu32(top);
    *max = top_vector > top_scalar ? top_vector : top_scalar;
    return d - to;
}

ptrdiff_t packed_u32_avx512(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max)
{
    return packed_vector(p, q, to, max);
}

/* Decodes at most four varints in at most 16 bytes without branching on their number.  Returns -1
 * for anything else. */
ALWAYS_INLINE ptrdiff_t packed_few(const uint8_t *p, const uint8_t *q, uint32_t *to, uint32_t *max)
{
    unsigned inside = (1u << (q - p)) - 1;
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    unsigned more = _mm_movepi8_mask(x), ends = ~more & inside;
    unsigned n = (unsigned)__builtin_popcount(ends);
    /* more than four varints, one of more than four bytes, or a truncated one */
    if (UNLIKELY(n > 4 || (more & more >> 1 & more >> 2 & more >> 3 & inside) ||
                 (more & inside & ~(inside >> 1))))
        return -1;
    __m128i starts = _mm_maskz_compress_epi8(
        (__mmask16)((ends << 1 | 1) & inside),
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m128i at =
        _mm_shuffle_epi8(starts, _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    at = _mm_add_epi8(at, _mm_set1_epi32(0x03020100));
    __m128i b = _mm_permutexvar_epi8(at, x);
    __m128i t = _mm_andnot_si128(b, _mm_set1_epi32((int)0x80808080));
    __m128i keep = _mm_xor_si128(t, _mm_sub_epi32(t, _mm_set1_epi32(1)));
    b = _mm_and_si128(_mm_and_si128(b, keep), _mm_set1_epi32(0x7f7f7f7f));
    b = _mm_madd_epi16(_mm_maddubs_epi16(_mm_set1_epi16((short)0x8001), b),
                       _mm_set1_epi32(0x40000001));
    b = _mm_maskz_mov_epi32((__mmask8)((1u << n) - 1), b);
    _mm_storeu_si128((__m128i *)(void *)to, b);
    __m128i top = _mm_max_epu32(b, _mm_shuffle_epi32(b, 0x4e));
    top = _mm_max_epu32(top, _mm_shuffle_epi32(top, 0xb1));
    uint32_t largest = (uint32_t)_mm_cvtsi128_si32(top);
    *max = largest > *max ? largest : *max;
    return n;
}

/* Reads one varint of up to eight bytes without branching on its length. */
ALWAYS_INLINE const uint8_t *varint_pext(const uint8_t *p, const uint8_t *q, uint64_t *v)
{
    uint64_t w;
    memcpy(&w, p, 8);
    uint64_t ends = ~w & 0x8080808080808080u;
    if (UNLIKELY(!ends)) return take_varint(p, q, v, false);
    *v = _pext_u64(w & (ends ^ (ends - 1)), 0x7f7f7f7f7f7f7f7fu);
    return p + ((unsigned)__builtin_ctzll(ends) >> 3) + 1;
}

#define HOT(name) name##_avx512
#define HOT_PACKED packed_vector
#define HOT_FEW 16
#define HOT_PACKED_FEW packed_few
#define HOT_VARINT varint_pext
#include "wire/otlp_hot.inc"

/* Writes 16 indices per step, the last ones first.  One multishift spreads the 7-bit groups of a
 * lane over its four bytes.  The used bytes follow from the 64-bit mask of nonzero bytes, four bits
 * per lane: all bytes up to the highest nonzero one, and always the first.  A byte has the
 * continuation bit if the next one is used.  The used bytes are compressed and rotated to the end
 * of the register, so that one store ends just before w.  The next step overwrites the bytes below,
 * so PACKED_PUT_ROOM bytes must be writable. */
uint8_t *packed_put_avx512(uint8_t *w, const uint32_t *v, size_t n)
{
    const __m512i groups = _mm512_set1_epi64(0x352e2720150e0700);
    const __m512i low = _mm512_set1_epi8(0x7f), high = _mm512_set1_epi8((char)0x80);
    const __m512i ramp = _mm512_loadu_si512(byte_ramp);
    while (n) {
        unsigned k = n < 16 ? (unsigned)n : 16;
        n -= k;
        __m512i x = _mm512_maskz_loadu_epi32((__mmask16)((1u << k) - 1), v + n);
        if (UNLIKELY(_mm512_cmpge_epu32_mask(x, _mm512_set1_epi32(1 << 28)))) {
            w = packed_put_portable(w, v + n, k); /* rare: an index of five bytes */
            continue;
        }
        uint64_t lanes = k == 16 ? ~(uint64_t)0 : ((uint64_t)1 << (4 * k)) - 1;
        __m512i y = _mm512_and_si512(_mm512_multishift_epi64_epi8(groups, x), low);
        uint64_t used = _mm512_test_epi8_mask(y, y);
        used |= used >> 1 & 0x7777777777777777u;
        used |= used >> 2 & 0x3333333333333333u;
        used |= 0x1111111111111111u & lanes;
        uint64_t more = used >> 1 & 0x7777777777777777u;
        y = _mm512_mask_add_epi8(y, more, y, high);
        unsigned bytes_n = (unsigned)__builtin_popcountll(used);
        y = _mm512_maskz_compress_epi8(used, y);
        y = _mm512_permutexvar_epi8(_mm512_add_epi8(ramp, _mm512_set1_epi8((char)bytes_n)), y);
        _mm512_storeu_si512(w - 64, y);
        w -= bytes_n;
    }
    return w;
}
