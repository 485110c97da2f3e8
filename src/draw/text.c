#include "draw/text.h"

#include "base/utf8.h"
#include "base/ban.h"

/* Bytes of the code point at s.p[i], 1 for a byte that is no part of one. */
static size_t step(str s, size_t i)
{
    unsigned char c = (unsigned char)s.p[i];
    size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return n <= s.n - i && utf8_ok(s.p + i, n) ? n : 1;
}

/* C0, DEL, C1 and stray bytes: what a terminal would act on. */
static bool harmful(str s, size_t i, size_t n)
{
    unsigned char c = (unsigned char)s.p[i];
    if (n == 1) return c < 0x20 || c >= 0x7f;
    return n == 2 && c == 0xc2 && (unsigned char)s.p[i + 1] < 0xa0;
}

size_t text_columns(str s)
{
    size_t columns = 0;
    for (size_t i = 0; i < s.n; i += step(s, i)) columns++;
    return columns;
}

void text_clipped(buf *b, str s, size_t width)
{
    bool clip = text_columns(s) > width;
    size_t room = clip && width ? width - 1 : width, column = 0;
    for (size_t i = 0, n; i < s.n && column < room; i += n, column++) {
        n = step(s, i);
        if (harmful(s, i, n))
            buf_putc(b, '?');
        else
            buf_put(b, s.p + i, n);
    }
    if (clip && width) buf_z(b, "…");
}

void text_padded(buf *b, str s, size_t width)
{
    text_clipped(b, s, width);
    for (size_t n = text_columns(s); n < width; n++) buf_putc(b, ' ');
}

void text_repeat(buf *b, const char *cell, size_t n)
{
    while (n--) buf_z(b, cell);
}
