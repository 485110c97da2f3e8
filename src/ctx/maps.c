/* Parses the lines of /proc/PID/maps. */
#include "ctx/maps.h"
#include "base/text.h"

#include "base/ban.h"

static str take_line(str *text)
{
    const char *nl = memchr(text->p, '\n', text->n);
    size_t n = nl ? (size_t)(nl - text->p) : text->n;
    str line = {text->p, n};
    *text = (str){text->p + n + (nl != NULL), text->n - n - (nl != NULL)};
    return line;
}

static bool take_number(str *s, unsigned base, char end, uint64_t *out)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < s->n && s->p[i] != end; i++) {
        int d = hex_digit(s->p[i]);
        if (d < 0 || (unsigned)d >= base || v >> 60) return false;
        v = v * base + (unsigned)d;
    }
    size_t used = i + (i < s->n);
    *s = (str){s->p + used, s->n - used};
    *out = v;
    return i > 0;
}

static bool skip(str *s, size_t n)
{
    if (s->n < n) return false;
    *s = (str){s->p + n, s->n - n};
    return true;
}

/* 7f0000001000-7f0000002000 r-xp 00001000 fd:01 1234      /usr/lib/libc.so.6 */
static bool parse(str s, map_line *out)
{
    uint64_t major, minor;
    if (!take_number(&s, 16, '-', &out->start) || !take_number(&s, 16, ' ', &out->end))
        return false;
    if (s.n < 5) return false;
    out->readable = s.p[0] == 'r';
    out->writable = s.p[1] == 'w';
    out->executable = s.p[2] == 'x';
    if (!skip(&s, 5) || !take_number(&s, 16, ' ', &out->offset)) return false;
    if (!take_number(&s, 16, ':', &major) || !take_number(&s, 16, ' ', &minor)) return false;
    if (!take_number(&s, 10, ' ', &out->inode)) return false;
    while (s.n && *s.p == ' ') skip(&s, 1);
    out->name = s.n ? s : STR("");
    return out->start < out->end;
}

bool maps_next(str *text, map_line *out)
{
    while (text->n)
        if (parse(take_line(text), out)) return true;
    return false;
}
