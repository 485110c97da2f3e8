/* base/utf8.h - is this text? */
#pragma once
#include "base/compiler.h"

/* Bytes of valid UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms) at the start of
 * p[0..n); n itself when all is valid. */
size_t utf8_valid(const char *p, size_t n);

static inline bool utf8_ok(const char *p, size_t n) { return utf8_valid(p, n) == n; }

/* The character at the start of p[0..n), n > 0: its length, 1 for a stray byte, and its code point, the byte itself for a stray
 * one.  true: a terminal or a log reader would act on it (C0, DEL, C1, stray bytes, line separators, changes of direction). */
bool utf8_harmful(const char *p, size_t n, size_t *length, uint32_t *code);

/* Writes code point c (not a surrogate, at most 0x10ffff) to out[4]; returns the length. */
size_t utf8_put(uint32_t c, char out[4]);

/* Does it look like text: no control characters but tab, line feed, form feed and carriage return?  Bytes above 127 may be in any
 * encoding. */
bool text_like(const char *p, size_t n);
