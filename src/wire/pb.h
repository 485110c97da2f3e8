/* wire/pb.h - a checked cursor over protobuf bytes; all readers except the hot decoder use it.
 *
 * A cursor does not read past its message.  On failure it records the position and the reason in
 * the error and becomes empty, so the loop ends:
 *
 *     for (pb_field f; pb_next(&c, &f);) switch (f.number) { ... default: pb_skip(&c, &f); }
 *     return pb_ok(&c);
 *
 * Sub-cursors share `base`, so offsets are absolute. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct pb_cur {
    const uint8_t *p, *end, *base;
    err *e; /* may be NULL: then only `bad` reports the failure */
    bool bad;
} pb_cur;

typedef struct pb_field {
    uint32_t number, wire; /* wire: 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32 */
    uint64_t value;        /* varint or fixed; length-delimited: the length */
    const uint8_t *data;   /* length-delimited: its bytes */
    const uint8_t *at;     /* first byte of the tag */
} pb_field;

static inline pb_cur pb_open(const void *p, size_t n, err *e)
{
    static const uint8_t none[1];
    const uint8_t *b = p ? p : none;
    return (pb_cur){.p = b, .end = b + n, .base = b, .e = e};
}

/* Reads the next field with its value.  Returns false at the end or on failure.  Rejects groups
 * (wire types 3 and 4), field number 0, varints beyond 64 bits and padded tags. */
bool pb_next(pb_cur *c, pb_field *f);

static inline bool pb_ok(const pb_cur *c) { return !c->bad; }
static inline uint64_t pb_offset(const pb_cur *c, const uint8_t *at)
{
    return (uint64_t)(at - c->base);
}

/* Records a failure at `at`; always returns false. */
bool pb_fail(pb_cur *c, const uint8_t *at, const char *fmt, ...) PRINTF(3, 4);

/* Returns a cursor over the bytes of a length-delimited field. */
static inline pb_cur pb_message(const pb_cur *c, const pb_field *f)
{
    return (pb_cur){.p = f->data, .end = f->data + f->value, .base = c->base, .e = c->e};
}

static inline str pb_bytes(const pb_field *f)
{
    return (str){(const char *)f->data, (size_t)f->value};
}

/* Reads one varint at the cursor (inside a packed field).  Returns false on failure. */
bool pb_varint(pb_cur *c, uint64_t *v);

/* Fails unless the field has this wire type. */
bool pb_expect(pb_cur *c, const pb_field *f, uint32_t wire, const char *name);

/* Reads a string field.  If it is not UTF-8, fails at the first invalid byte. */
bool pb_text(pb_cur *c, const pb_field *f, const char *name, str *out);

/* ---- writing, forwards, into a buf ---- */
struct buf;
void pb_put_varint(struct buf *b, uint64_t v);
void pb_put_uint(struct buf *b, uint32_t number, uint64_t v); /* writes 0 too */
void pb_put_fixed64(struct buf *b, uint32_t number, uint64_t v);
void pb_put_bytes(struct buf *b, uint32_t number, str s);

/* Returns the length of v as a varint, 1 to 10. */
static inline unsigned pb_varint_len(uint64_t v)
{
    return (unsigned)(70 - __builtin_clzll(v | 1)) / 7;
}
