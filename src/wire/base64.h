/* wire/base64.h - bytes as text (RFC 4648): written in the standard alphabet with padding, read in
 * both alphabets, padding optional. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

void base64_encode(buf *b, str bytes);

/* Bytes that a text of n characters can hold at most. */
static inline size_t base64_max(size_t n) { return n / 4 * 3 + 3; }

/* Decodes into out[base64_max(text.n)]; *n is the count.  False: not base64, and *n is the position
 * of the character that is wrong (text.n when it ends too early). */
NODISCARD bool base64_decode(str text, uint8_t *out, size_t *n);

/* text.n / 2 bytes of hex digits of any case; false: an odd count or another character. */
NODISCARD bool hex_decode(str text, uint8_t *out);
