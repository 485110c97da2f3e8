/* Decodes the bytes of a recording: integers and strings. */
#include "format/jfr_internal.h"

#include "base/utf8.h"
#include "base/ban.h"

uint64_t jcur_var_slow(jcur *c)
{
    uint64_t v = 0;
    const uint8_t *p = c->p;
    size_t left = (size_t)(c->end - p), n = left < 8 ? left : 8;
    for (size_t i = 0; i < n; i++) {
        v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (p[i] < 0x80) {
            c->p = p + i + 1;
            return v;
        }
    }
    if (left < 9) {
        jcur_fail(c);
        return 0;
    }
    c->p = p + 9;
    return v | (uint64_t)p[8] << 56;
}

uint64_t jcur_fixed(jcur *c, unsigned bytes)
{
    uint64_t v = 0;
    if ((size_t)(c->end - c->p) < bytes) {
        jcur_fail(c);
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++) v = v << 8 | *c->p++;
    return v;
}

void jcur_skip(jcur *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->p))
        jcur_fail(c);
    else
        c->p += n;
}

static uint32_t take_char(jcur *c)
{
    return (uint32_t)(c->fixed ? jcur_fixed(c, 2) : jcur_var(c)) & 0xffff;
}

void jcur_skip_str(jcur *c)
{
    uint32_t n;
    switch ((jtag)jcur_fixed(c, 1)) {
    case JSTR_NULL:
    case JSTR_EMPTY: return;
    case JSTR_REF: jcur_long(c); return;
    case JSTR_UTF8:
    case JSTR_LATIN1: jcur_skip(c, jcur_int(c)); return;
    case JSTR_CHARS:
        n = jcur_int(c);
        for (uint32_t i = 0; i < n && !c->failed; i++) take_char(c);
        return;
    }
    jcur_fail(c);
}

/* ---- text ---- */

static const uint32_t REPLACEMENT = 0xfffd;

/* Allocates n bytes for a text. Returns NULL when the budget is exhausted. */
static char *text_room(jtexts *m, size_t n)
{
    char *p = arena_alloc(m->a, n);
    if (!p) m->failed = true;
    return p;
}

static str text_done(jtexts *m, char *p, size_t room, size_t n)
{
    arena_trim(m->a, p, room, n);
    return (str){p, n};
}

/* Returns valid UTF-8 as a view; otherwise each invalid byte becomes U+FFFD. */
static str text_utf8(const char *p, size_t n, jtexts *m)
{
    size_t good = utf8_valid(p, n), used = 0;
    if (good == n) return (str){p, n};
    char *to = text_room(m, n * 3);
    if (!to) return (str){0};
    m->n_bad++;
    for (size_t i = 0; i < n;) {
        if (good) memcpy(to + used, p + i, good);
        used += good;
        i += good;
        if (i < n) {
            char c[4];
            size_t len = utf8_put(REPLACEMENT, c);
            memcpy(to + used, c, len);
            used += len;
            i++;
        }
        good = utf8_valid(p + i, n - i);
    }
    return text_done(m, to, n * 3, used);
}

static str text_latin1(const uint8_t *p, size_t n, jtexts *m)
{
    size_t high = 0, used = 0;
    for (size_t i = 0; i < n; i++) high += p[i] >= 0x80;
    if (!high) return (str){(const char *)p, n};
    char *to = text_room(m, n + high);
    if (!to) return (str){0};
    for (size_t i = 0; i < n; i++) {
        char c[4];
        size_t len = utf8_put(p[i], c);
        memcpy(to + used, c, len);
        used += len;
    }
    return (str){to, used};
}

static bool is_high(uint32_t u) { return u >= 0xd800 && u < 0xdc00; }
static bool is_low(uint32_t u) { return u >= 0xdc00 && u < 0xe000; }

static str text_chars(jcur *c, uint32_t n, jtexts *m)
{
    if (n > (size_t)(c->end - c->p)) { /* each character has at least one byte */
        jcur_fail(c);
        return (str){0};
    }
    size_t room = (size_t)n * 3, used = 0;
    char *to = text_room(m, room);
    if (!to) return (str){0};
    uint32_t high = 0; /* first half of a surrogate pair */
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        uint32_t u = take_char(c);
        if (high && is_low(u)) {
            used -= 3; /* removes the U+FFFD that was written for the first half */
            u = 0x10000 + ((high - 0xd800) << 10) + (u - 0xdc00);
            high = 0;
        } else {
            high = is_high(u) ? u : 0;
            if (high || is_low(u)) u = REPLACEMENT;
        }
        char b[4];
        size_t len = utf8_put(u, b);
        memcpy(to + used, b, len);
        used += len;
    }
    return text_done(m, to, room, used);
}

jstring jcur_str(jcur *c, jtexts *m)
{
    jstring s = {.tag = (jtag)jcur_fixed(c, 1)};
    const uint8_t *p;
    uint32_t n;
    switch (s.tag) {
    case JSTR_NULL:
    case JSTR_EMPTY: return s;
    case JSTR_REF: s.key = jcur_long(c); return s;
    case JSTR_UTF8:
    case JSTR_LATIN1:
        n = jcur_int(c);
        p = c->p;
        jcur_skip(c, n);
        if (c->failed) return s;
        s.text = s.tag == JSTR_UTF8 ? text_utf8((const char *)p, n, m) : text_latin1(p, n, m);
        return s;
    case JSTR_CHARS: s.text = text_chars(c, jcur_int(c), m); return s;
    }
    jcur_fail(c);
    return s;
}
