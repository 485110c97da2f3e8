#include "base/utf8.h"

#include "base/ban.h"

/* Length of the well-formed sequence at p, 0 if it is none.  Rows of table 3-7. */
static size_t sequence(const unsigned char *p, size_t n)
{
    unsigned a = p[0];
    if (a < 0x80) return 1;
    if (a < 0xc2 || a > 0xf4) return 0;
    if (n < 2) return 0;
    unsigned b = p[1];
    if (a < 0xe0) return (b & 0xc0) == 0x80 ? 2 : 0;
    unsigned lo = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
    unsigned hi = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    if (b < lo || b > hi || n < 3 || (p[2] & 0xc0) != 0x80) return 0;
    if (a < 0xf0) return 3;
    return n >= 4 && (p[3] & 0xc0) == 0x80 ? 4 : 0;
}

size_t utf8_valid(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0;
    while (i < n) {
        /* Names are ASCII nearly always: eight bytes a step while they are. */
        while (n - i >= 8) {
            uint64_t w;
            memcpy(&w, p + i, 8);
            if (w & 0x8080808080808080u) break;
            i += 8;
        }
        while (i < n && p[i] < 0x80) i++;
        if (i == n) break;
        size_t k = sequence(p + i, n - i);
        if (!k) return i;
        i += k;
    }
    return n;
}

size_t utf8_put(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t k = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = k; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[k] | c);
    return k;
}
