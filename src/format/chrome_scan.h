/* format/chrome_scan.h - scans one event object fast, in the spelling that nearly all writers use.
 *
 * Accepts plain text without escapes, plain numbers, and anything between balanced brackets.
 * Everything else (escapes, other spellings, the last bytes of the input, every error) is left to
 * the tokenizer, which then reads the same event from its start. The contents of "args" are not
 * checked here; their user checks them. */
#pragma once
#include "base/str.h"
#include "wire/json_quick.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SCAN_MARGIN = 64 }; /* bytes that must follow, because whole words are loaded */

/* Sets bit 7 of each byte of the word that equals c; exact up to the first such byte. */
static inline uint64_t scan_equal(uint64_t w, char c)
{
    uint64_t x = w ^ bytes8((unsigned char)c);
    return (x - bytes8(1)) & ~x & bytes8(0x80);
}

/* Each function returns the position of the first byte of its kind among SCAN_STEP bytes, or
 * SCAN_STEP if there is none. */
#ifdef __SSE2__
enum { SCAN_STEP = 16 };

static inline unsigned scan_first(__m128i hit)
{
    return (unsigned)__builtin_ctz((unsigned)_mm_movemask_epi8(hit) | 1u << SCAN_STEP);
}

/* Finds a quote or a byte that is not plain text: backslash, control character, non-ASCII byte. */
static inline unsigned scan_not_plain(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i hit =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    return scan_first(_mm_or_si128(hit, _mm_cmplt_epi8(v, _mm_set1_epi8(0x20))));
}

/* Finds a quote or a backslash. */
static inline unsigned scan_quote(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    return scan_first(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                                   _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
}

/* Finds a quote or a bracket. [ ] { } differ only in bits 0x26. Y _ y match too, but never occur
 * outside of text. */
static inline unsigned scan_bracket(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i some = _mm_and_si128(v, _mm_set1_epi8((char)0xd9));
    return scan_first(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                                   _mm_cmpeq_epi8(some, _mm_set1_epi8(0x59))));
}
#else
enum { SCAN_STEP = 8 };

static inline unsigned scan_first(uint64_t hit)
{
    return hit ? (unsigned)__builtin_ctzll(hit) / 8 : SCAN_STEP;
}

static inline unsigned scan_not_plain(const char *p)
{
    uint64_t w = load8(p);
    return scan_first(scan_equal(w, '"') | scan_equal(w, '\\') |
                      (((w - bytes8(0x20)) | w) & bytes8(0x80)));
}

static inline unsigned scan_quote(const char *p)
{
    uint64_t w = load8(p);
    return scan_first(scan_equal(w, '"') | scan_equal(w, '\\'));
}

static inline unsigned scan_bracket(const char *p)
{
    uint64_t w = load8(p);
    return scan_first(scan_equal(w & bytes8(0xd9), 0x59) | scan_equal(w, '"'));
}
#endif

/* p is after the opening quote. Returns the position of the closing quote, or NULL when the text is
 * not plain ASCII. */
static inline const char *scan_text(const char *p, const char *limit)
{
    for (; p < limit; p += SCAN_STEP) {
        unsigned n = scan_not_plain(p);
        if (n < SCAN_STEP) return p[n] == '"' ? p + n : NULL;
    }
    return NULL;
}

/* Returns the position after the closing quote, whatever the text contains; NULL at the limit. */
static inline const char *scan_past_text(const char *p, const char *limit)
{
    while (p < limit) {
        unsigned n = scan_quote(p);
        p += n;
        if (n == SCAN_STEP) continue;
        if (*p == '"') return p + 1;
        p += 2;
    }
    return NULL;
}

/* p is at a { or [; returns the position after the bracket that closes it, or NULL. */
static inline const char *scan_past_brackets(const char *p, const char *limit)
{
    unsigned depth = 0;
    while (p < limit) {
        unsigned n = scan_bracket(p);
        p += n;
        if (n == SCAN_STEP) continue;
        char c = *p++;
        if (c == '"') {
            p = scan_past_text(p, limit);
            if (!p) return NULL;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_MAX_DEPTH) return NULL;
        } else if (c == '}' || c == ']') {
            if (--depth == 0) return p;
        } else {
            return NULL;
        }
    }
    return NULL;
}

/* Returns the position after a number, or NULL. */
static inline const char *scan_past_number(const char *p)
{
    const char *from = p, *most = p + 32;
    while (p < most &&
           (json_is_digit(*p) || *p == '-' || *p == '+' || *p == '.' || (*p | 0x20) == 'e'))
        p++;
    return p > from && p < most ? p : NULL;
}

/* Returns the position after a value that is skipped, or NULL. */
static inline const char *scan_past_value(const char *p, const char *limit)
{
    switch (*p) {
    case '"': return scan_past_text(p + 1, limit);
    case '{':
    case '[': return scan_past_brackets(p, limit);
    case 't': return memcmp(p, "true", 4) == 0 ? p + 4 : NULL;
    case 'f': return memcmp(p, "false", 5) == 0 ? p + 5 : NULL;
    case 'n': return memcmp(p, "null", 4) == 0 ? p + 4 : NULL;
    default: return scan_past_number(p);
    }
}

/* Reads microseconds with up to three decimals, quoted or not, as nanoseconds. */
static inline const char *scan_micros(const char *p, const char *end, int64_t *ns)
{
    bool quoted = *p == '"';
    p += quoted;
    uint64_t v, thousandth = 0;
    if (!json_quick_digits(&p, end, &v) || v > INT64_MAX / 1000 - 1) return NULL;
    if (*p == '.') {
        unsigned n = 0;
        for (p++; n < 3 && json_is_digit(*p); n++)
            thousandth = thousandth * 10 + (uint64_t)(*p++ - '0');
        if (n == 0) return NULL;
        for (; n < 3; n++) thousandth *= 10;
    }
    if (json_is_digit(*p) || (*p | 0x20) == 'e') return NULL;
    if (quoted && *p++ != '"') return NULL;
    *ns = (int64_t)(v * 1000 + thousandth);
    return p;
}

/* SCAN_KEY is {word, mask, length} of a key with the quote and colon after it. */
#define SCAN_BYTE(c, i) ((uint64_t)(unsigned char)(c) << (8 * (i)))
#define SCAN_KEY2(a, b)                                                                            \
    {                                                                                              \
        SCAN_BYTE(a, 0) | SCAN_BYTE(b, 1) | SCAN_BYTE('"', 2) | SCAN_BYTE(':', 3), 0xffffffff, 4   \
    }
#define SCAN_KEY3(a, b, c)                                                                         \
    {                                                                                              \
        SCAN_BYTE(a, 0) | SCAN_BYTE(b, 1) | SCAN_BYTE(c, 2) | SCAN_BYTE('"', 3) |                  \
            SCAN_BYTE(':', 4),                                                                     \
            0xffffffffff, 5                                                                        \
    }
#define SCAN_KEY4(a, b, c, d)                                                                      \
    {                                                                                              \
        SCAN_BYTE(a, 0) | SCAN_BYTE(b, 1) | SCAN_BYTE(c, 2) | SCAN_BYTE(d, 3) |                    \
            SCAN_BYTE('"', 4) | SCAN_BYTE(':', 5),                                                 \
            0xffffffffffff, 6                                                                      \
    }
