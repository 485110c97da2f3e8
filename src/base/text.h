/* base/text.h - characters and digits of text formats.  ASCII only: the locale has no influence. */
#pragma once
#include "base/str.h"

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Value of a hex digit of either case, or -1. */
static inline int hex_digit(char c)
{
    if (is_digit(c)) return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes exactly 2 * n hex digits of either case. Returns false for other text; `out` may then be
 * partly written. */
NODISCARD static inline bool hex_bytes(str s, uint8_t *out, size_t n)
{
    bool ok = s.n == 2 * n;
    for (size_t i = 0; ok && i < n; i++) {
        int high = hex_digit(s.p[2 * i]), low = hex_digit(s.p[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        if (ok) out[i] = (uint8_t)(high << 4 | low);
    }
    return ok;
}

/* Moves the next line of *rest to *row, without LF or CR LF. Returns false when nothing is left. */
static inline bool str_line(str *rest, str *row)
{
    if (!rest->n) return false;
    const char *lf = memchr(rest->p, '\n', rest->n);
    size_t n = lf ? (size_t)(lf - rest->p) : rest->n, past = n + (lf != NULL);
    *row = (str){rest->p, n && rest->p[n - 1] == '\r' ? n - 1 : n};
    *rest = (str){rest->p + past, rest->n - past};
    return true;
}

/* Returns the part of a path after its last slash. */
static inline str str_base_name(str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? (str){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

/* Return s without the spaces and tabs at its start, or at both ends. */
static inline str str_trim_left(str s)
{
    while (s.n && is_blank(s.p[0])) s.p++, s.n--;
    return s;
}
static inline str str_trim(str s)
{
    s = str_trim_left(s);
    while (s.n && is_blank(s.p[s.n - 1])) s.n--;
    return s;
}
