/* Computes the columns of text on a terminal. The tables of wide and zero-width characters are from
 * Unicode 15, because wcwidth() depends on the locale. */
#include "draw/text.h"

#include "base/utf8.h"
#include "base/ban.h"

typedef struct range {
    uint32_t first, last;
} range;

/* Unicode 15: East Asian Width W and F, and emoji that terminals draw as wide. */
static const range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},
    {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x2705, 0x2705},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd},
};

/* Combining marks and invisible characters. */
static const range no_width[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
    {0x064b, 0x065f}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x2060, 0x2064}, {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

static bool in_ranges(const range *r, size_t n, uint32_t c)
{
    size_t from = 0;
    while (from < n) {
        size_t mid = from + (n - from) / 2;
        if (c > r[mid].last)
            from = mid + 1;
        else if (c < r[mid].first)
            n = mid;
        else
            return true;
    }
    return false;
}

/* Returns the columns of the character at s.p[i]. Sets *n to its length in bytes, and *harmful if
 * it is shown as `?`. */
static size_t width_at(str s, size_t i, size_t *n, bool *harmful)
{
    uint32_t c;
    *harmful = utf8_harmful(s.p + i, s.n - i, n, &c);
    if (*n == 1 || *harmful) return 1;
    if (in_ranges(no_width, ARRAY_LEN(no_width), c)) return 0;
    return in_ranges(wide, ARRAY_LEN(wide), c) ? 2 : 1;
}

size_t text_columns(str s)
{
    size_t columns = 0;
    bool harmful;
    for (size_t i = 0, n; i < s.n; i += n) columns += width_at(s, i, &n, &harmful);
    return columns;
}

size_t text_clipped(buf *b, str s, size_t width)
{
    bool clip = text_columns(s) > width;
    size_t room = clip && width ? width - 1 : width, column = 0;
    for (size_t i = 0, n, w; i < s.n; i += n, column += w) {
        bool harmful;
        w = width_at(s, i, &n, &harmful);
        if (w > room - column) break;
        if (harmful)
            buf_putc(b, '?');
        else
            buf_put(b, s.p + i, n);
    }
    if (!clip || !width) return column;
    buf_z(b, "…");
    return column + 1;
}

str text_tail(str s, size_t width)
{
    size_t left = text_columns(s), at = 0;
    bool harmful;
    for (size_t n; at < s.n && left > width; at += n) left -= width_at(s, at, &n, &harmful);
    return (str){s.p + at, s.n - at};
}

void text_padded(buf *b, str s, size_t width)
{
    for (size_t n = text_clipped(b, s, width); n < width; n++) buf_putc(b, ' ');
}

void text_repeat(buf *b, const char *cell, size_t n)
{
    while (n--) buf_z(b, cell);
}
