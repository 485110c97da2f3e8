/* Escapes text for XML. Invalid UTF-8 is replaced byte by byte, so that the valid rest stays
 * readable. */
#include "draw/xml.h"

#include "base/utf8.h"
#include "base/ban.h"
#include <math.h>

#define REPLACEMENT "\xef\xbf\xbd"

static const char *escape_of(unsigned char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\t':
    case '\n':
    case '\r': return " ";
    default: return c < 0x20 || c == 0x7f ? REPLACEMENT : NULL;
    }
}

/* Returns whether the character is valid UTF-8, but not allowed in XML or not printable: U+FFFE,
 * U+FFFF and the C1 controls. */
static bool unwanted(const char *p, size_t left)
{
    const unsigned char *u = (const unsigned char *)p;
    if (left >= 2 && u[0] == 0xc2 && u[1] < 0xa0) return true;
    return left >= 3 && u[0] == 0xef && u[1] == 0xbf && u[2] >= 0xbe;
}

static void put_valid(buf *b, str s)
{
    size_t from = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        const char *other = c < 0x80 ? escape_of(c) : NULL;
        size_t n = 1;
        if (c >= 0xc2 && unwanted(s.p + i, s.n - i)) other = REPLACEMENT, n = c == 0xc2 ? 2 : 3;
        if (!other) continue;
        buf_put(b, s.p + from, i - from);
        buf_z(b, other);
        i += n - 1;
        from = i + 1;
    }
    buf_put(b, s.p + from, s.n - from);
}

void xml_text(buf *b, str s)
{
    while (s.n) {
        size_t good = utf8_valid(s.p, s.n);
        put_valid(b, (str){s.p, good});
        if (good < s.n) buf_z(b, REPLACEMENT), good++;
        s = (str){s.p + good, s.n - good};
    }
}

void xml_number(buf *b, double v)
{
    long long milli = llround(v * 1000);
    if (milli < 0) buf_putc(b, '-'), milli = -milli;
    buf_u64(b, (uint64_t)(milli / 1000));
    unsigned rest = (unsigned)(milli % 1000);
    if (!rest) return;
    char d[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                 (char)('0' + rest % 10)};
    buf_put(b, d, d[3] != '0' ? 4 : d[2] != '0' ? 3 : 2);
}
