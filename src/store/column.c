/* Encodes and decodes columns of integers (column.h). The encoder tries the possible encodings on
 * the first values. Packing bits avoids branches that depend on the values, because every sample
 * goes through here. */
#include "store/column.h"

#include <zstd.h>
#include "base/ban.h"

enum { CONSTANT = 0, CLASSES = 1, WORDS = 2, LEVEL = 3, NEGATIVE = 0x80 };
enum {
    TRIED = 1024,
    TRIED_PART = 8
}; /* the encoding is chosen by this many values, or by this part of the column */

void zipper_free(zipper *z)
{
    for (size_t i = 0; i < ARRAY_LEN(z->compress); i++) ZSTD_freeCCtx(z->compress[i]);
    ZSTD_freeDCtx(z->decompress);
    buf_free(&z->bytes);
    buf_free(&z->bits);
    buf_free(&z->words);
    buf_free(&z->wide);
    *z = (zipper){0};
}

/* ---- bytes ---- */

static ZSTD_CCtx *context(zipper *z, zip_effort effort)
{
    static const struct {
        ZSTD_cParameter name;
        int value;
    } least[] = {{ZSTD_c_compressionLevel, 1},
                 {ZSTD_c_strategy, ZSTD_fast},
                 {ZSTD_c_hashLog, 6},
                 {ZSTD_c_minMatch, 7}};
    ZSTD_CCtx *c = z->compress[effort];
    if (c) return c;
    z->compress[effort] = c = ZSTD_createCCtx();
    if (!c) return NULL;
    if (effort == ZIP_REPEATS)
        (void)ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, z->level ? z->level : LEVEL);
    for (size_t i = 0; effort == ZIP_ENTROPY && i < ARRAY_LEN(least); i++)
        (void)ZSTD_CCtx_setParameter(c, least[i].name, least[i].value);
    return c;
}

void put_zipped(buf *out, str in, zip_effort effort, zipper *z)
{
    put_varint(out, in.n);
    size_t bound = ZSTD_compressBound(in.n), n = in.n;
    ZSTD_CCtx *c = in.n > 16 ? context(z, effort) : NULL;
    z->bytes.n = 0;
    if (c && buf_reserve(&z->bytes, bound)) {
        n = ZSTD_compress2(c, z->bytes.p, bound, in.p, in.n);
        if (ZSTD_isError(n)) n = in.n;
    }
    put_varint(out, n < in.n ? n : in.n);
    buf_put(out, n < in.n ? z->bytes.p : in.p, n < in.n ? n : in.n);
}

static bool unzip(str in, void *to, size_t n, zipper *z)
{
    if (!z->decompress) z->decompress = ZSTD_createDCtx();
    return z->decompress && ZSTD_decompressDCtx(z->decompress, to, n, in.p, in.n) == n;
}

bool take_zipped(taker *t, size_t max, zipper *z, arena *a, str *out)
{
    uint64_t n = take_varint(t);
    str in = take_str(t);
    if (t->bad || n > max || in.n > n) return false;
    *out = in;
    if (in.n == n) return true;
    char *p = arena_alloc(a, (size_t)n);
    *out = (str){p, (size_t)n};
    return p && unzip(in, p, (size_t)n, z);
}

/* Like take_zipped, but decompresses into scratch memory, which the next call reuses. */
static bool take_zipped_here(taker *t, size_t max, zipper *z, str *out)
{
    uint64_t n = take_varint(t);
    str in = take_str(t);
    if (t->bad || n > max || in.n > n) return false;
    *out = in;
    if (in.n == n) return true;
    z->words.n = 0;
    if (!buf_reserve(&z->words, (size_t)n)) return z->words.failed = false;
    *out = (str){z->words.p, (size_t)n};
    return unzip(in, z->words.p, (size_t)n, z);
}

/* ---- classes ---- */

static inline unsigned bits_of(uint64_t v)
{
    return 64 - (unsigned)__builtin_clzll(v | 1) - (v == 0);
}
static inline uint64_t size_of(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

/* Writes bits, lowest first. `word` buffers fewer than eight bits. */
typedef struct bit_out {
    uint8_t *p;
    uint64_t word;
    unsigned n;
} bit_out;

enum { AT_ONCE = 56 }; /* bits that fit in `word` in addition to those buffered */

/* Appends the lowest n bits of v, n <= AT_ONCE. Branches on n would be mispredicted, so there are
 * none. */
static inline void put_few(bit_out *o, uint64_t v, unsigned n)
{
    o->word |= v << o->n;
    memcpy(o->p, &o->word, 8);
    n += o->n;
    o->p += n / 8;
    o->word >>= n & ~7u;
    o->n = n & 7;
}

static inline void put_bits(bit_out *o, uint64_t v, unsigned n)
{
    if (UNLIKELY(n > AT_ONCE)) {
        put_few(o, v & UINT32_MAX, 32);
        v >>= 32;
        n -= 32;
    }
    put_few(o, v, n);
}

static bool classes_of(const int64_t *v, size_t n, zipper *z)
{
    z->words.n = z->bits.n = 0;
    if (!buf_reserve(&z->words, n) || !buf_reserve(&z->bits, n * 8 + 16)) return false;
    bit_out o = {.p = (uint8_t *)z->bits.p};
    char *words = z->words.p;
    for (size_t i = 0; i < n; i++) {
        uint64_t s = size_of(v[i]);
        unsigned c = bits_of(s), below = c - (c != 0);
        words[i] = (char)(c | (v[i] < 0 ? NEGATIVE : 0));
        put_bits(&o, s & ((UINT64_C(1) << below) - 1), below);
    }
    z->words.n = n;
    memcpy(o.p, &o.word, 8);
    z->bits.n = (size_t)(o.p - (uint8_t *)z->bits.p) + (o.n + 7) / 8;
    return true;
}

static void put_classes(buf *out, const int64_t *v, size_t n, zipper *z)
{
    if (!classes_of(v, n, z)) {
        out->failed = true;
        return;
    }
    put_zipped(out, buf_view(&z->words), ZIP_ENTROPY, z);
    buf_put(out, z->bits.p, z->bits.n);
}

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Returns n bits from bit `at` of [p, p + len). Reads eight bytes at once where len allows it. */
static inline uint64_t bits_at(const uint8_t *p, size_t len, uint64_t at, unsigned n)
{
    size_t byte = (size_t)(at >> 3);
    unsigned shift = at & 7;
    uint64_t v, more = 0;
    if (LIKELY(byte + 9 <= len)) {
        v = load64(p + byte) >> shift;
        more = p[byte + 8];
    } else {
        uint8_t tail[16] = {0};
        if (byte < len) memcpy(tail, p + byte, len - byte > 16 ? 16 : len - byte);
        v = load64(tail) >> shift;
        more = tail[8];
    }
    if (shift) v |= more << (64 - shift);
    return v & ((UINT64_C(1) << n) - 1); /* n <= 63 */
}

/* Decodes the values whose bits are far enough from the end that one load of eight bytes per value
 * is possible. Returns how many it decoded and advances *at. */
static size_t take_inside(const uint8_t *c, const uint8_t *p, size_t len, uint64_t *at, int64_t *v,
                          size_t n)
{
    enum { ONE_LOAD = 57 }; /* bits that one load of eight bytes yields at any bit offset */
    uint64_t bit = *at;
    size_t i = 0;
    for (; i < n && (bit >> 3) + 8 <= len; i++) {
        unsigned bits = c[i] & 0x7f;
        if (UNLIKELY(bits > ONE_LOAD)) break;
        unsigned below = bits - (bits != 0);
        uint64_t top = (uint64_t)(bits != 0) << below;
        uint64_t s = (load64(p + (bit >> 3)) >> (bit & 7) & ((UINT64_C(1) << below) - 1)) | top;
        uint64_t sign = 0 - (uint64_t)(c[i] >> 7);
        v[i] = (int64_t)((s ^ sign) - sign);
        bit += below;
    }
    *at = bit;
    return i;
}

static bool take_classes(taker t, int64_t *v, size_t n, zipper *z)
{
    str classes;
    if (!take_zipped_here(&t, n, z, &classes) || classes.n != n) return false;
    const uint8_t *c = (const uint8_t *)classes.p;
    size_t len = taker_left(&t);
    uint64_t at = 0;
    for (size_t i = take_inside(c, t.p, len, &at, v, n); i < n; i++) {
        unsigned bits = c[i] & 0x7f;
        uint64_t s = bits;
        if (bits > 1) {
            if (UNLIKELY(bits > 64)) return false;
            s = bits_at(t.p, len, at, bits - 1) | UINT64_C(1) << (bits - 1);
            at += bits - 1;
        }
        v[i] = (int64_t)(c[i] & NEGATIVE ? 0 - s : s);
    }
    return (at + 7) / 8 <= len;
}

/* ---- words ---- */

static void put_words(buf *out, const int64_t *v, size_t n, int64_t low, unsigned width,
                      zip_effort effort, zipper *z)
{
    put_signed(out, low);
    buf_putc(out, (char)width);
    z->words.n = 0;
    if (!buf_reserve(&z->words, n * width + 8)) {
        out->failed = true;
        return;
    }
    char *p = z->words.p;
    for (size_t i = 0; i < n; i++, p += width) {
        uint64_t d = (uint64_t)v[i] - (uint64_t)low;
        memcpy(p, &d, 8);
    }
    put_zipped(out, (str){z->words.p, n * width}, effort, z);
}

static bool take_words(taker t, int64_t *v, size_t n, zipper *z)
{
    int64_t low = take_signed(&t);
    str head = take_bytes(&t, 1), words;
    unsigned width = head.n ? (uint8_t)head.p[0] : 0;
    if (t.bad || width == 0 || width > 8 || n > SIZE_MAX / 8) return false;
    if (!take_zipped_here(&t, n * width, z, &words) || words.n != n * width) return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t d = 0;
        memcpy(&d, words.p + i * width, width);
        v[i] = (int64_t)((uint64_t)low + d);
    }
    return true;
}

/* ---- columns ---- */

static void put_kind(buf *out, int kind, const buf *body)
{
    buf_putc(out, (char)kind);
    put_varint(out, body->n);
    buf_put(out, body->p, body->n);
    out->failed |= body->failed;
}

/* Encodings of columns that are not constant. */
typedef enum way { WAY_CLASSES, WAY_WORDS_ENTROPY, WAY_WORDS_REPEATS, WAYS } way;

typedef struct bounds {
    int64_t low;
    unsigned width;
} bounds;

static void put_way(buf *out, way w, const int64_t *v, size_t n, bounds b, zipper *z)
{
    if (w == WAY_CLASSES)
        put_classes(out, v, n, z);
    else
        put_words(out, v, n, b.low, b.width, w == WAY_WORDS_REPEATS ? ZIP_REPEATS : ZIP_ENTROPY, z);
}

/* Returns the shortest encoding of these values; *best receives its output. */
static way best_way(const int64_t *v, size_t n, bounds b, buf *best, zipper *z)
{
    way w = WAY_CLASSES;
    put_way(best, w, v, n, b, z);
    for (way i = WAY_CLASSES + 1; i < WAYS; i++) {
        buf other = {0};
        put_way(&other, i, v, n, b, z);
        if (other.failed || other.n >= best->n) {
            best->failed |= other.failed;
            buf_free(&other);
            continue;
        }
        buf_free(best);
        *best = other;
        w = i;
    }
    return w;
}

void put_column(buf *out, const int64_t *v, size_t n, column_hint hint, zipper *z)
{
    int64_t low = n ? v[0] : 0, high = low;
    for (size_t i = 1; i < n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    buf a = {0};
    if (low == high) {
        put_signed(&a, low);
        put_kind(out, CONSTANT, &a);
        buf_free(&a);
        return;
    }
    bounds b = {low, (bits_of((uint64_t)high - (uint64_t)low) + 7) / 8};
    way w = WAY_CLASSES;
    size_t tried = n / TRIED_PART > TRIED ? n / TRIED_PART : n < TRIED ? n : TRIED;
    if (hint != COLUMN_NOISE) w = best_way(v, tried, b, &a, z);
    if (hint == COLUMN_NOISE || n > tried) {
        buf_reset(&a);
        put_way(&a, w, v, n, b, z);
    }
    put_kind(out, w == WAY_CLASSES ? CLASSES : WORDS, &a);
    buf_free(&a);
}

void put_numbers(buf *out, const uint32_t *v, size_t n, zipper *z)
{
    z->wide.n = 0;
    if (!buf_reserve(&z->wide, n * sizeof(int64_t) + 8)) {
        z->wide.failed = false;
        out->failed = true;
        return;
    }
    int64_t *wide = (int64_t *)(void *)z->wide.p;
    for (size_t i = 0; i < n; i++) wide[i] = v[i];
    put_column(out, wide, n, COLUMN_ANY, z);
}

static bool take_kind(taker *t, unsigned *kind, taker *body)
{
    str k = take_bytes(t, 1), s = take_str(t);
    if (t->bad) return false;
    *kind = (uint8_t)k.p[0];
    *body = taker_of(s);
    return true;
}

bool take_column(taker *t, int64_t *v, size_t n, zipper *z)
{
    unsigned kind;
    taker body;
    if (!take_kind(t, &kind, &body)) return false;
    if (kind == CLASSES) return take_classes(body, v, n, z);
    if (kind == WORDS) return take_words(body, v, n, z);
    int64_t constant = take_signed(&body);
    for (size_t i = 0; i < n; i++) v[i] = constant;
    return kind == CONSTANT && !body.bad;
}

bool take_column_u32(taker *t, uint32_t *v, size_t n, uint32_t limit, zipper *z)
{
    int64_t constant;
    if (take_constant(t, &constant)) {
        if (n && (constant < 0 || constant >= (int64_t)limit)) return false;
        for (size_t i = 0; i < n; i++) v[i] = (uint32_t)constant;
        return true;
    }
    z->bits.n = 0;
    if (n > SIZE_MAX / 8 || !buf_reserve(&z->bits, n * 8 + 8)) return z->bits.failed = false;
    int64_t *wide = (int64_t *)(void *)z->bits.p;
    if (!take_column(t, wide, n, z)) return false;
    uint64_t top = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t w = (uint64_t)wide[i];
        top = w > top ? w : top;
        v[i] = (uint32_t)w;
    }
    return n == 0 || top < limit;
}

bool take_constant(taker *t, int64_t *v)
{
    taker peek = *t, body;
    unsigned kind;
    if (!take_kind(&peek, &kind, &body) || kind != CONSTANT) return false;
    *v = take_signed(&body);
    if (body.bad) return false;
    *t = peek;
    return true;
}

void skip_column(taker *t)
{
    unsigned kind;
    taker body;
    (void)take_kind(t, &kind, &body);
}
