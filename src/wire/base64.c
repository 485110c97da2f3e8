/* Base64 and hex (base64.h).  base64_decode reports the position of the first invalid character,
 * hex_decode only that there is one. */
#include "wire/base64.h"

#include "base/ban.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(buf *b, str bytes)
{
    size_t full = bytes.n / 3, rest = bytes.n % 3;
    if (full > SIZE_MAX / 4 - 1 || !buf_reserve(b, (full + 1) * 4)) return;
    const uint8_t *p = (const uint8_t *)bytes.p;
    char *w = b->p + b->n;
    for (size_t i = 0; i < full; i++, p += 3, w += 4) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        for (unsigned k = 0; k < 4; k++) w[k] = alphabet[v >> (18 - 6 * k) & 63];
    }
    if (rest) {
        uint32_t v = (uint32_t)p[0] << 16 | (rest == 2 ? (uint32_t)p[1] << 8 : 0);
        w[0] = alphabet[v >> 18];
        w[1] = alphabet[v >> 12 & 63];
        w[2] = rest == 2 ? alphabet[v >> 6 & 63] : '=';
        w[3] = '=';
        w += 4;
    }
    b->n = (size_t)(w - b->p);
}

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

bool base64_decode(str t, uint8_t *out, size_t *n)
{
    if (t.n % 4 == 0 && t.n && t.p[t.n - 1] == '=') t.n -= t.p[t.n - 2] == '=' ? 2 : 1;
    uint32_t v = 0;
    size_t k = 0;
    for (size_t i = 0; i < t.n; i++) {
        int s = sextet(t.p[i]);
        if (s < 0) return *n = i, false;
        v = v << 6 | (uint32_t)s;
        if (i % 4) out[k++] = (uint8_t)(v >> (6 - 2 * (i % 4)));
    }
    *n = t.n % 4 == 1 ? t.n : k;
    return t.n % 4 != 1;
}

/* 0x10 | value for a hex digit, otherwise 0. */
static const uint8_t hex_digit[256] = {
    ['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15,
    ['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b,
    ['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f, ['A'] = 0x1a, ['B'] = 0x1b,
    ['C'] = 0x1c, ['D'] = 0x1d, ['E'] = 0x1e, ['F'] = 0x1f};

bool hex_decode(str t, uint8_t *out)
{
    unsigned good = t.n % 2 ? 0 : 0x10;
    for (size_t i = 0; i + 1 < t.n; i += 2) {
        unsigned hi = hex_digit[(uint8_t)t.p[i]], lo = hex_digit[(uint8_t)t.p[i + 1]];
        good &= hi & lo;
        out[i / 2] = (uint8_t)(hi << 4 | (lo & 15));
    }
    return good;
}
