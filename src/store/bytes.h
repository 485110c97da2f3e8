/* store/bytes.h - numbers and texts in the store's files: varints, lengths before bytes, little
 * endian. Pure.
 *
 * Decoding is checked: a decoder that runs out of input sets `bad` and returns zeros from then on,
 * so that callers check once at the end. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

typedef struct taker {
    const uint8_t *p, *end;
    bool bad;
} taker;

static inline taker taker_of(str s)
{
    const uint8_t *p = s.n ? (const uint8_t *)s.p : (const uint8_t *)"";
    return (taker){p, p + s.n, false};
}

static inline size_t taker_left(const taker *t) { return (size_t)(t->end - t->p); }

static inline void put_varint(buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) buf_putc(b, (char)(v | 0x80));
    buf_putc(b, (char)v);
}

static inline uint64_t take_varint(taker *t)
{
    uint64_t v = 0;
    for (unsigned shift = 0; t->p < t->end && shift < 64; shift += 7) {
        uint8_t b = *t->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return v;
    }
    t->bad = true;
    t->p = t->end;
    return 0;
}

static inline uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static inline int64_t unzigzag(uint64_t v) { return (int64_t)(v >> 1 ^ (0 - (v & 1))); }

static inline void put_signed(buf *b, int64_t v) { put_varint(b, zigzag(v)); }
static inline int64_t take_signed(taker *t) { return unzigzag(take_varint(t)); }

static inline str take_bytes(taker *t, uint64_t n)
{
    if (n > taker_left(t)) {
        t->bad = true;
        t->p = t->end;
        return (str){0};
    }
    str s = {(const char *)t->p, (size_t)n};
    t->p += n;
    return s;
}

static inline void put_str(buf *b, str s)
{
    put_varint(b, s.n);
    buf_put(b, s.p, s.n);
}

static inline str take_str(taker *t) { return take_bytes(t, take_varint(t)); }

static inline void put_fixed64(buf *b, uint64_t v) { buf_put(b, &v, sizeof v); }

static inline uint64_t take_fixed64(taker *t)
{
    uint64_t v = 0;
    str s = take_bytes(t, sizeof v);
    if (s.n) memcpy(&v, s.p, sizeof v);
    return v;
}

/* Blobs in SQLite end with a checksum of the bytes before it. The seed depends on the kind of blob,
 * so that a blob of another kind fails the check, too. */
static inline void seal_bytes(buf *b, uint64_t what)
{
    put_fixed64(b, XXH3_64bits_withSeed(b->p ? b->p : "", b->n, what));
}

static inline bool unseal_bytes(str *s, uint64_t what)
{
    uint64_t want;
    if (s->n < sizeof want) return false;
    s->n -= sizeof want;
    memcpy(&want, s->p + s->n, sizeof want);
    return XXH3_64bits_withSeed(s->p, s->n, what) == want;
}
