/* The JSON writer (json.h). */
#include "wire/json.h"

#include "wire/base64.h"
#include "wire/swar.h"

#include "base/ban.h"
#include <math.h>

static bool is_flat(const json_out *o) { return o->flat_at && o->depth >= o->flat_at; }

static void line(json_out *o)
{
    static const char blanks[] =
        "\n                                                                ";
    size_t n = (size_t)o->depth * 2, some = sizeof blanks - 2;
    buf_put(o->b, blanks, 1 + (n < some ? n : some));
    for (; n > some; n -= some) buf_put(o->b, blanks + 1, n - some < some ? n - some : some);
}

/* Writes the separator before the next value or key. */
static void before(json_out *o)
{
    if (o->after_key) {
        o->after_key = false;
        return;
    }
    if (o->filled) buf_putc(o->b, ',');
    o->filled = true;
    if (!o->pretty || !o->depth) return;
    if (!is_flat(o))
        line(o);
    else if (o->b->n && o->b->p[o->b->n - 1] == ',')
        buf_putc(o->b, ' ');
}

static void open_container(json_out *o, char c)
{
    before(o);
    buf_putc(o->b, c);
    o->depth++;
    o->filled = false;
}

static void close_container(json_out *o, char c)
{
    bool flat = is_flat(o);
    if (flat && o->depth == o->flat_at) o->flat_at = 0;
    o->depth--;
    if (o->pretty && o->filled && !flat) line(o);
    buf_putc(o->b, c);
    o->filled = true;
}

void json_put_object(json_out *o) { open_container(o, '{'); }
void json_put_object_end(json_out *o) { close_container(o, '}'); }
void json_put_array(json_out *o) { open_container(o, '['); }
void json_put_array_end(json_out *o) { close_container(o, ']'); }

void json_put_array_flat(json_out *o)
{
    open_container(o, '[');
    if (!o->flat_at) o->flat_at = o->depth;
}

/* ---- text ---- */

/* Returns the first byte that needs an escape, or `end`. */
static const char *plain_run(const char *s, const char *end)
{
    while (end - s >= 8) {
        uint64_t w = load8(s);
        uint64_t stop = ((w ^ bytes8('"')) - bytes8(1)) | ((w ^ bytes8('\\')) - bytes8(1)) |
                        (w - bytes8(0x20)) | ((w ^ bytes8(0x7f)) - bytes8(1));
        stop &= ~w & bytes8(0x80);
        if (stop) return s + __builtin_ctzll(stop) / 8;
        s += 8;
    }
    while (s < end && *s != '"' && *s != '\\' && *s != 0x7f && (unsigned char)*s >= 0x20) s++;
    return s;
}

static void put_escape(buf *b, char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
    const char *at = c ? strchr(from, c) : NULL;
    if (at) {
        buf_put(b, (char[]){'\\', to[at - from]}, 2);
    } else {
        unsigned u = (unsigned char)c;
        buf_put(b, (char[]){'\\', 'u', '0', '0', hex[u >> 4], hex[u & 15]}, 6);
    }
}

void json_escape(buf *b, str t)
{
    if (!t.n) return; /* t.p may be NULL */
    for (const char *s = t.p, *end = t.p + t.n; s < end;) {
        const char *stop = plain_run(s, end);
        buf_put(b, s, (size_t)(stop - s));
        if (stop < end) put_escape(b, *stop++);
        s = stop;
    }
}

void json_quote(buf *b, str t)
{
    if (!buf_reserve(b, t.n + 2)) return;
    buf_putc(b, '"');
    json_escape(b, t);
    buf_putc(b, '"');
}

void json_put_str(json_out *o, str text)
{
    before(o);
    json_quote(o->b, text);
}

void json_put_key(json_out *o, str key)
{
    before(o);
    json_quote(o->b, key);
    buf_putc(o->b, ':');
    if (o->pretty) buf_putc(o->b, ' ');
    o->after_key = true;
}

void json_put_hex(json_out *o, str bytes)
{
    static const char hex[] = "0123456789abcdef";
    before(o);
    buf_putc(o->b, '"');
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned u = (unsigned char)bytes.p[i];
        buf_put(o->b, (char[]){hex[u >> 4], hex[u & 15]}, 2);
    }
    buf_putc(o->b, '"');
}

void json_put_base64(json_out *o, str bytes)
{
    before(o);
    buf_putc(o->b, '"');
    base64_encode(o->b, bytes);
    buf_putc(o->b, '"');
}

/* ---- numbers and words ---- */

void json_put_i64(json_out *o, int64_t v)
{
    before(o);
    buf_i64(o->b, v);
}

void json_put_u64(json_out *o, uint64_t v)
{
    before(o);
    buf_u64(o->b, v);
}

void json_put_i64_quoted(json_out *o, int64_t v)
{
    before(o);
    buf_putc(o->b, '"');
    buf_i64(o->b, v);
    buf_putc(o->b, '"');
}

void json_put_u64_quoted(json_out *o, uint64_t v)
{
    before(o);
    buf_putc(o->b, '"');
    buf_u64(o->b, v);
    buf_putc(o->b, '"');
}

void json_put_double(json_out *o, double v)
{
    before(o);
    if (isnan(v)) return buf_z(o->b, "\"NaN\"");
    if (isinf(v)) return buf_z(o->b, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    char text[32];
    buf_put(o->b, text, double_text(v, text, sizeof text));
}

void json_put_bool(json_out *o, bool v)
{
    before(o);
    buf_z(o->b, v ? "true" : "false");
}

void json_put_null(json_out *o)
{
    before(o);
    buf_z(o->b, "null");
}
