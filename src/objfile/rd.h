/* objfile/rd.h - a cursor over untrusted bytes of either byte order.
 *
 * A read past the end empties the cursor, sets `failed` and returns 0: loops end by themselves, and
 * the caller checks `failed` once. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"

typedef struct rd {
    const uint8_t *p, *end;
    bool big;
    bool failed;
} rd;

static inline rd rd_of(str s, bool big)
{
    const uint8_t *p = (const uint8_t *)(s.n ? s.p : "");
    return (rd){p, p + s.n, big, false};
}

/* Returns a cursor at byte `at` of s; it has failed if that is past the end. */
static inline rd rd_from(str s, uint64_t at, bool big)
{
    rd r = rd_of(s, big);
    if (at <= s.n)
        r.p += at;
    else
        r.p = r.end, r.failed = true;
    return r;
}

static inline size_t rd_left(const rd *r) { return (size_t)(r->end - r->p); }

static inline void rd_fail(rd *r)
{
    r->p = r->end;
    r->failed = true;
}

static inline const uint8_t *rd_take(rd *r, uint64_t n)
{
    static const uint8_t none[16];
    if (UNLIKELY(n > rd_left(r))) {
        rd_fail(r);
        return n <= sizeof none ? none : NULL;
    }
    const uint8_t *p = r->p;
    r->p += n;
    return p;
}

static inline void rd_skip(rd *r, uint64_t n)
{
    if (n > rd_left(r))
        rd_fail(r);
    else
        r->p += n;
}

static inline uint8_t rd_u8(rd *r) { return *rd_take(r, 1); }

static inline uint16_t rd_u16(rd *r)
{
    uint16_t v;
    memcpy(&v, rd_take(r, 2), 2);
    return r->big ? __builtin_bswap16(v) : v;
}

static inline uint32_t rd_u24(rd *r)
{
    const uint8_t *p = rd_take(r, 3);
    return r->big ? (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]
                  : (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline uint32_t rd_u32(rd *r)
{
    uint32_t v;
    memcpy(&v, rd_take(r, 4), 4);
    return r->big ? __builtin_bswap32(v) : v;
}

static inline uint64_t rd_u64(rd *r)
{
    uint64_t v;
    memcpy(&v, rd_take(r, 8), 8);
    return r->big ? __builtin_bswap64(v) : v;
}

/* Reads 1, 2, 4 or 8 bytes; any other size fails. */
static inline uint64_t rd_uint(rd *r, unsigned size)
{
    switch (size) {
    case 8: return rd_u64(r);
    case 4: return rd_u32(r);
    case 2: return rd_u16(r);
    case 1: return rd_u8(r);
    default: rd_fail(r); return 0;
    }
}

/* Reads LEB128. Bits beyond 64 are dropped, as in other readers. */
static inline uint64_t rd_uleb(rd *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t b = rd_u8(r);
        if (shift < 64) v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return v;
    }
}

static inline int64_t rd_sleb(rd *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0;;) {
        uint8_t b = rd_u8(r);
        if (shift < 64) v |= (uint64_t)(b & 0x7f) << shift;
        shift += 7;
        if (b & 0x80) continue;
        if (shift < 64 && (b & 0x40)) v |= ~UINT64_C(0) << shift;
        return (int64_t)v;
    }
}

/* Reads a terminated string and skips its NUL. */
static inline str rd_z(rd *r)
{
    size_t left = rd_left(r);
    const uint8_t *p = r->p, *nul = left ? memchr(p, 0, left) : NULL;
    if (!nul) {
        rd_fail(r);
        return (str){"", 0};
    }
    r->p = nul + 1;
    return (str){(const char *)p, (size_t)(nul - p)};
}

/* Returns the terminated string at byte `at` of a section; "" if there is none. */
static inline str rd_string_at(str section, uint64_t at)
{
    if (at >= section.n) return (str){"", 0};
    rd r = rd_from(section, at, false);
    return rd_z(&r);
}
