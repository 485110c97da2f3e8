/* walk.c - the practical limit of portable C: one pass, branchy varints, no storage.
 *
 * Branches win here because lengths repeat and predict well; the branchless form has a serial
 * chain through every length and is 2 to 3 times slower.
 * Bounds: a length is compared with the rest of its message; a varint may read up to 10 bytes
 * past the end (the caller pads) and is then caught by `p == end`. */
#include "walk.h"
#include "contest.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

typedef const uint8_t *ptr;

enum { VARINT, FIXED64, LEN };
#define TAG(field, type) ((field) << 3 | (type))

/* Continuation bits are removed by subtracting 1 << 7 with the next byte: one addition per byte. */
INLINE ptr varint(ptr p, uint64_t *out)
{
    uint64_t v = p[0], b;
    if (LIKELY(v < 0x80)) return *out = v, p + 1;
    b = p[1], v += (b - 1) << 7;
    if (LIKELY(b < 0x80)) return *out = v, p + 2;
    b = p[2], v += (b - 1) << 14;
    if (LIKELY(b < 0x80)) return *out = v, p + 3;
    b = p[3], v += (b - 1) << 21;
    if (b < 0x80) return *out = v, p + 4;
    b = p[4], v += (b - 1) << 28;
    if (b < 0x80) return *out = v, p + 5;
    for (unsigned i = 5; i < 10; i++) {
        b = p[i], v += (b - 1) << (7 * i);
        if (b < 0x80) return *out = v, p + i + 1;
    }
    return NULL;
}

/* Reads a length-delimited field: its bytes are [*body, result).  Returns NULL when it overruns
 * `end`. */
INLINE ptr body(ptr p, ptr end, ptr *start)
{
    uint64_t n;
    p = varint(p, &n);
    if (!p || p > end || n > (uint64_t)(end - p)) return NULL;
    return *start = p, p + n;
}

INLINE bool packed(ptr p, ptr end, uint64_t *sum)
{
    uint64_t a = 0, v;
    while (p < end) {
        p = varint(p, &v);
        if (!p) return false;
        a += v;
    }
    *sum += a;
    return p == end;
}

INLINE bool fixed64s(ptr p, ptr end, uint64_t *sum)
{
    for (; end - p >= 8; p += 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        *sum += v;
    }
    return p == end;
}

/* Skips a field that is not opened: adds numbers, or the length of bytes, to the sum. */
INLINE ptr scalar(unsigned tag, ptr p, ptr end, uint64_t *sum)
{
    uint64_t v;
    ptr start;
    switch (tag & 7) {
    case VARINT:
        p = varint(p, &v);
        if (!p) return NULL;
        *sum += v;
        return p;
    case FIXED64:
        if (end - p < 8) return NULL;
        memcpy(&v, p, 8);
        *sum += v;
        return p + 8;
    case LEN:
        p = body(p, end, &start);
        if (!p) return NULL;
        *sum += (uint64_t)(p - start);
        return p;
    default: return NULL;
    }
}

INLINE bool flat(ptr p, ptr end, uint64_t *sum)
{
    while (p < end) {
        unsigned tag = *p++;
        p = scalar(tag, p, end, sum);
        if (!p) return false;
    }
    return p == end;
}

/* Reads scalars, flat messages (tag `nested`) and packed numbers (tag `list`); tag 0 = none. */
INLINE bool nest(ptr p, ptr end, unsigned nested, unsigned list, uint64_t *sum)
{
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        if (tag == nested) {
            p = body(p, end, &start);
            if (!p || !flat(start, p, sum)) return false;
        } else if (list && tag == list) {
            p = body(p, end, &start);
            if (!p || !packed(start, p, sum)) return false;
        } else {
            p = scalar(tag, p, end, sum);
            if (!p) return false;
        }
    }
    return p == end;
}

INLINE bool sample(ptr p, ptr end, uint64_t *sum)
{
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        uint64_t v;
        if ((tag & 7) == VARINT) {
            p = varint(p, &v);
            if (!p) return false;
            *sum += v;
            continue;
        }
        p = body(p, end, &start);
        if (!p) return false;
        if (!(tag == TAG(5, LEN) ? fixed64s(start, p, sum) : packed(start, p, sum))) return false;
    }
    return p == end;
}

static bool profile(ptr p, ptr end, uint64_t *total)
{
    uint64_t sum = 0; /* local: stays in a register over a million samples */
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        if (tag == TAG(2, LEN)) {
            p = body(p, end, &start);
            if (!p || !sample(start, p, &sum)) return false;
        } else if (tag == TAG(1, LEN) || tag == TAG(5, LEN)) {
            p = body(p, end, &start);
            if (!p || !flat(start, p, &sum)) return false;
        } else if (tag == TAG(11, LEN)) {
            p = body(p, end, &start);
            if (!p || !packed(start, p, &sum)) return false;
        } else {
            p = scalar(tag, p, end, &sum);
            if (!p) return false;
        }
    }
    *total += sum;
    return p == end;
}

INLINE bool stack(ptr p, ptr end, uint64_t *sum)
{
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        if (tag != TAG(1, LEN)) {
            p = scalar(tag, p, end, sum);
            if (!p) return false;
            continue;
        }
        p = body(p, end, &start);
        if (!p || !packed(start, p, sum)) return false;
    }
    return p == end;
}

static bool dictionary(ptr p, ptr end, uint64_t *total)
{
    uint64_t sum = 0;
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        p = body(p, end, &start);
        if (!p) return false;
        bool ok;
        switch (tag) {
        case TAG(1, LEN): ok = nest(start, p, 0, TAG(5, LEN), &sum); break;           /* mapping */
        case TAG(2, LEN): ok = nest(start, p, TAG(3, LEN), TAG(4, LEN), &sum); break; /* location */
        case TAG(5, LEN): sum += (uint64_t)(p - start) + *start, ok = true; break;    /* string */
        case TAG(6, LEN): ok = nest(start, p, TAG(2, LEN), 0, &sum); break; /* attribute */
        case TAG(7, LEN): ok = stack(start, p, &sum); break;
        default: ok = flat(start, p, &sum); break; /* function, link */
        }
        if (!ok) return false;
    }
    *total += sum;
    return p == end;
}

static bool scope_profiles(ptr p, ptr end, uint64_t *sum)
{
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        p = body(p, end, &start);
        if (!p) return false;
        if (tag == TAG(2, LEN) && !profile(start, p, sum)) return false;
        if (tag == TAG(1, LEN) && !nest(start, p, TAG(3, LEN), 0, sum)) return false;
        if (tag == TAG(3, LEN)) *sum += (uint64_t)(p - start);
    }
    return p == end;
}

static bool resource_profiles(ptr p, ptr end, uint64_t *sum)
{
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        p = body(p, end, &start);
        if (!p) return false;
        if (tag == TAG(2, LEN) && !scope_profiles(start, p, sum)) return false;
        if (tag == TAG(1, LEN) && !nest(start, p, TAG(1, LEN), 0, sum)) return false;
        if (tag == TAG(3, LEN)) *sum += (uint64_t)(p - start);
    }
    return p == end;
}

bool walk_profiles(const uint8_t *p, size_t n, uint64_t *sum)
{
    ptr end = p + n;
    while (p < end) {
        unsigned tag = *p++;
        ptr start;
        p = body(p, end, &start);
        if (!p) return false;
        if (tag == TAG(1, LEN) && !resource_profiles(start, p, sum)) return false;
        if (tag == TAG(2, LEN) && !dictionary(start, p, sum)) return false;
    }
    return p == end;
}

/* ---- as contestants ---- */

static volatile uint64_t sink; /* keeps the work from being optimized away */

static void *open_walk(const material *in)
{
    static char self;
    (void)in;
    return &self;
}

static bool decode_walk(void *self, const material *in)
{
    uint64_t sum = 0;
    bool ok = walk_profiles(in->p, in->n, &sum);
    (void)self;
    sink = sum;
    return ok;
}

static void close_walk(void *self) { (void)self; }

contestants walk_contestants(void)
{
    static const contestant v[] = {
        {"walk", ROLE_WALK, MATERIAL_OTLP, open_walk, decode_walk, NULL, close_walk},
    };
    return (contestants){v, sizeof v / sizeof *v};
}
