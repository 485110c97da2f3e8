/* wire/base64.h - bytes as text (RFC 4648): writes the standard alphabet with padding, reads both
 * alphabets with or without padding. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

void base64_encode(buf *b, str bytes);

/* Returns an upper bound of the bytes that n characters encode. */
static inline size_t base64_max(size_t n) { return n / 4 * 3 + 3; }

/* Decodes into out[base64_max(text.n)] and sets *n to the number of bytes.  Returns false if the
 * text is not base64; *n is then the position of the invalid character (text.n when the text is too
 * short). */
NODISCARD bool base64_decode(str text, uint8_t *out, size_t *n);

/* Decodes hex digits of either case to text.n / 2 bytes.  Returns false for an odd number of digits
 * or another character. */
NODISCARD bool hex_decode(str text, uint8_t *out);
