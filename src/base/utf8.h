/* base/utf8.h - is this text? */
#pragma once
#include "base/compiler.h"

/* Bytes of valid UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms) at the start of
 * p[0..n); n itself when all is valid. */
size_t utf8_valid(const char *p, size_t n);

static inline bool utf8_ok(const char *p, size_t n) { return utf8_valid(p, n) == n; }

/* Writes code point c (not a surrogate, at most 0x10ffff) to out[4]; returns the length. */
size_t utf8_put(uint32_t c, char out[4]);
