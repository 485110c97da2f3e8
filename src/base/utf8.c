/* UTF-8 according to table 3-7 of the Unicode standard. Almost all profile strings are ASCII, so
 * validation checks eight bytes per step while they are. */
#include "base/utf8.h"

#include "base/ban.h"

/* Returns the length of the well-formed sequence at p; 0 if there is none. */
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
        /* Names are nearly always ASCII: eight bytes per step while they are. */
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

bool utf8_harmful(const char *p, size_t n, size_t *length, uint32_t *code)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned char c = (unsigned char)p[0];
    size_t want = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    bool whole = want <= n && utf8_ok(p, want);
    *length = whole ? want : 1;
    *code = whole ? c & first[want] : c;
    for (size_t i = 1; i < *length; i++) *code = *code << 6 | ((unsigned char)p[i] & 0x3f);
    if (*length == 1) return c < 0x20 || c >= 0x7f;
    return *code < 0xa0 || *code == 0x200e || *code == 0x200f ||
           (*code >= 0x2028 && *code <= 0x202e) || (*code >= 0x2066 && *code <= 0x2069);
}

bool text_like(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p[i] < ' ' && !memchr("\t\n\r\f", p[i], 4)) return false;
    return true;
}
