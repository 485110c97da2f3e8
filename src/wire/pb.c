/* The checked protobuf cursor (pb.h), with a fast path for fields of two bytes. */
#include "wire/pb.h"

#include "base/buf.h"
#include "base/utf8.h"

#include "base/ban.h"
#include <inttypes.h>

bool pb_fail(pb_cur *c, const uint8_t *at, const char *fmt, ...)
{
    char msg[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    c->bad = true;
    err_at(c->e, ERR_MALFORMED, pb_offset(c, at), "%s", msg);
    c->p = c->end;
    return false;
}

bool pb_varint(pb_cur *c, uint64_t *v)
{
    const uint8_t *p = c->p;
    uint64_t r = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == c->end) return pb_fail(c, c->p, "varint runs past the end of the message");
        uint8_t b = *p++;
        if (shift == 63 && b > 1) return pb_fail(c, c->p, "varint does not fit in 64 bits");
        r |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            c->p = p;
            *v = r;
            return true;
        }
    }
    return pb_fail(c, c->p, "varint is longer than 10 bytes");
}

static uint64_t little_endian(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) v = v << 8 | p[i];
    return v;
}

/* Fast path for a tag and a value (or length) of one byte each, which most fields have. */
static bool next_short(pb_cur *c, pb_field *f)
{
    const uint8_t *p = c->p;
    if (c->end - p < 2 || p[0] >= 0x80 || p[1] >= 0x80 || p[0] < 8) return false;
    f->number = p[0] >> 3;
    f->wire = p[0] & 7;
    f->value = p[1];
    if (f->wire == 2) {
        if (p[1] > c->end - p - 2) return false;
        f->data = p + 2;
        c->p = p + 2 + p[1];
        return true;
    }
    c->p = p + 2;
    if (f->wire == 0) return true;
    c->p = p;
    return false;
}

bool pb_next(pb_cur *c, pb_field *f)
{
    if (c->p == c->end) return false;
    f->at = c->p;
    if (next_short(c, f)) return true;
    uint64_t tag;
    if (!pb_varint(c, &tag)) return false;
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return pb_fail(c, f->at, "field number %" PRIu64 " is not allowed", tag >> 3);
    f->number = (uint32_t)(tag >> 3);
    f->wire = (uint32_t)(tag & 7);
    /* The hot decoder compares tags as bytes, so it would not recognize a padded tag.  No encoder pads
     * tags. */
    if (c->p - f->at > 1 && c->p[-1] == 0)
        return pb_fail(c, f->at, "the tag of field %u is padded", f->number);
    size_t left, fixed = f->wire == 1 ? 8 : 4;
    switch (f->wire) {
    case 0: return pb_varint(c, &f->value);
    case 1:
    case 5:
        if ((size_t)(c->end - c->p) < fixed)
            return pb_fail(c, f->at, "field %u needs %zu bytes, %zu are left", f->number, fixed,
                           (size_t)(c->end - c->p));
        f->value = little_endian(c->p, fixed);
        c->p += fixed;
        return true;
    case 2:
        if (!pb_varint(c, &f->value)) return false;
        left = (size_t)(c->end - c->p);
        if (f->value > left)
            return pb_fail(c, f->at, "field %u needs %" PRIu64 " bytes, %zu are left", f->number,
                           f->value, left);
        f->data = c->p;
        c->p += f->value;
        return true;
    default:
        return pb_fail(c, f->at, "field %u has wire type %u, which proto3 never uses", f->number,
                       f->wire);
    }
}

static const char *wire_name(uint32_t wire)
{
    static const char *const names[] = {"a varint", "64-bit", "length-delimited",
                                        "?",        "?",      "32-bit"};
    return wire < ARRAY_LEN(names) ? names[wire] : "?";
}

bool pb_expect(pb_cur *c, const pb_field *f, uint32_t wire, const char *name)
{
    if (f->wire == wire) return true;
    return pb_fail(c, f->at, "%s (field %u) is %s, expected %s", name, f->number,
                   wire_name(f->wire), wire_name(wire));
}

bool pb_text(pb_cur *c, const pb_field *f, const char *name, str *out)
{
    if (!pb_expect(c, f, 2, name)) return false;
    *out = pb_bytes(f);
    size_t ok = utf8_valid(out->p, out->n);
    if (ok == out->n) return true;
    return pb_fail(c, f->data + ok, "%s is not UTF-8: byte 0x%02x", name, f->data[ok]);
}

void pb_put_varint(buf *b, uint64_t v)
{
    char d[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) d[n++] = (char)(v | 0x80);
    d[n++] = (char)v;
    buf_put(b, d, n);
}

void pb_put_uint(buf *b, uint32_t number, uint64_t v)
{
    pb_put_varint(b, (uint64_t)number << 3);
    pb_put_varint(b, v);
}

void pb_put_fixed64(buf *b, uint32_t number, uint64_t v)
{
    pb_put_varint(b, (uint64_t)number << 3 | 1);
    uint8_t d[8];
    for (size_t i = 0; i < 8; i++) d[i] = (uint8_t)(v >> (8 * i));
    buf_put(b, d, sizeof d);
}

void pb_put_bytes(buf *b, uint32_t number, str s)
{
    pb_put_varint(b, (uint64_t)number << 3 | 2);
    pb_put_varint(b, s.n);
    buf_str(b, s);
}
