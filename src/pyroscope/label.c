/* Spellings of label names. */
#include "pyroscope/label.h"

#include <strings.h>

#include "base/text.h"

#include "base/ban.h"

static bool is_letter(char c) { return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_'; }

/* Returns whether c continues a character of several bytes, which has one underscore already. */
static bool continues(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

bool pyro_label_is_plain(str name)
{
    if (!name.n || is_digit(name.p[0])) return false;
    for (size_t i = 0; i < name.n; i++)
        if (!is_letter(name.p[i]) && !is_digit(name.p[i])) return false;
    return true;
}

/* The plain spelling of a key, character by character. */
typedef struct spelling {
    str key;
    size_t at;
    bool begun;
} spelling;

/* Returns the next character, or 0 at the end. */
static char next(spelling *s)
{
    bool first = !s->begun;
    s->begun = true;
    if (first && s->key.n && is_digit(s->key.p[0])) return '_';
    while (s->at < s->key.n) {
        size_t i = s->at++;
        char c = s->key.p[i];
        if (is_letter(c) || is_digit(c)) return c;
        if (!i || !continues(c)) return '_';
    }
    return '\0';
}

bool pyro_label_plain(str name, arena *a, str *out, err *e)
{
    *out = name;
    if (pyro_label_is_plain(name)) return true;
    char *to = arena_alloc(a, name.n + 1);
    size_t n = 0;
    spelling s = {.key = name};
    if (!to) return arena_spent(a, e);
    for (char c; (c = next(&s));) to[n++] = c;
    *out = (str){to, n};
    return true;
}

bool pyro_label_same(str written, str key)
{
    if (str_eq(written, key)) return true;
    spelling s = {.key = key};
    for (size_t i = 0; i < written.n; i++)
        if (!written.p[i] || next(&s) != written.p[i]) return false;
    return written.n && !next(&s);
}

size_t pyro_label_find(str written, const str *keys, size_t n)
{
    size_t found = n;
    for (size_t i = 0; i < n; i++) {
        if (str_eq(written, keys[i])) return i;
        if (found == n && pyro_label_same(written, keys[i])) found = i;
    }
    return found;
}

/* ---- keys of Kiln ---- */

bool pyro_label_is_internal(str key)
{
    static const str measured[] = {STR("kiln.jfr."), STR("kiln.off_cpu.bound"), STR("kiln.thread."),
                                   STR("kiln.wait.")};
    if (str_starts(key, STR("pprof."))) return true;
    if (!str_starts(key, STR("kiln."))) return false;
    for (size_t i = 0; i < ARRAY_LEN(measured); i++)
        if (str_starts(key, measured[i])) return false;
    return true;
}

/* ---- the Accept header ---- */

static bool is_text(str s, const char *z)
{
    return s.n == strlen(z) && (!s.n || !strncasecmp(s.p, z, s.n));
}

/* Splits s at the first `c` into the part before it, trimmed, and the rest. */
static str cut(str *s, char c)
{
    const char *at = s->n ? memchr(s->p, c, s->n) : NULL;
    str before = at ? (str){s->p, (size_t)(at - s->p)} : *s;
    *s = at ? (str){at + 1, s->n - before.n - 1} : (str){0};
    return str_trim(before);
}

bool pyro_label_utf8_accepted(str accept)
{
    while (accept.n) {
        str range = cut(&accept, ',');
        (void)cut(&range, ';'); /* the type */
        while (range.n) {
            str value = cut(&range, ';'), key = cut(&value, '=');
            value = str_trim(value);
            if (value.n > 1 && value.p[0] == '"' && value.p[value.n - 1] == '"')
                value = (str){value.p + 1, value.n - 2};
            if (is_text(key, "allow-utf8-labelnames") && is_text(value, "true")) return true;
        }
    }
    return false;
}
