/* base/utf8.h - validates, reads and writes UTF-8. */
#pragma once
#include "base/compiler.h"

/* Returns the number of bytes of valid UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong
 * forms) at the start of p[0..n); n when all are valid. */
size_t utf8_valid(const char *p, size_t n);

static inline bool utf8_ok(const char *p, size_t n) { return utf8_valid(p, n) == n; }

/* Reads the character at the start of p[0..n), n > 0: its length and code point.  An invalid byte has
 * length 1 and its own value.  Returns true when a terminal or a log viewer would act on it: C0, DEL,
 * C1, invalid bytes, line separators, changes of direction. */
bool utf8_harmful(const char *p, size_t n, size_t *length, uint32_t *code);

/* Writes code point c (not a surrogate, at most 0x10ffff) to out[4]; returns the length. */
size_t utf8_put(uint32_t c, char out[4]);

/* Returns whether the bytes look like text. Control characters other than tab, line feed, form feed
 * and carriage return do not occur in text. Bytes above 127 may be in any encoding. */
bool text_like(const char *p, size_t n);
