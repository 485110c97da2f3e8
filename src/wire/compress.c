/* Compresses and decompresses whole buffers (compress.h): libdeflate and zstd, one layer at a time.
 * unpack_stream.c has the streaming decoder, which also finds the position and the cause of
 * damage. */
#include "wire/compress.h"

#include <libdeflate.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "base/ban.h"
#include <inttypes.h>

/* Deflate compresses at most 1032:1, so a header that claims more is wrong. */
enum { FIRST_ROOM = 64 * 1024, PLAUSIBLE_RATIO = 16, GZIP_SMALLEST = 18 };

static const uint8_t *bytes_of(str s) { return (const uint8_t *)s.p; }

codec codec_detect(str head)
{
    const uint8_t *p = bytes_of(head);
    if (head.n >= 2 && p[0] == 0x1f && p[1] == 0x8b) return CODEC_GZIP;
    if (head.n < 4) return CODEC_NONE;
    if (p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) return CODEC_ZSTD;
    /* a skippable frame, which pzstd writes first */
    if ((p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18) return CODEC_ZSTD;
    return CODEC_NONE;
}

const char *codec_name(codec c)
{
    return c == CODEC_GZIP ? "gzip" : c == CODEC_ZSTD ? "zstd" : "none";
}

codec codec_of_suffix(str path)
{
    if (str_ends(path, STR(".gz"))) return CODEC_GZIP;
    if (str_ends(path, STR(".zst")) || str_ends(path, STR(".zstd"))) return CODEC_ZSTD;
    return CODEC_NONE;
}

/* ---- whole buffers ---- */

typedef struct room {
    arena *a;
    uint8_t *p;
    size_t n, cap, max;
    size_t packed; /* input size that max was derived from; 0: the caller gave max */
    err *e;
} room;

static bool room_grow(room *r, size_t cap)
{
    if (cap > r->max) cap = r->max;
    uint8_t *p = arena_grow(r->a, r->p, r->cap, cap);
    if (!p)
        return err_set(r->e, ERR_MEMORY,
                       "decompressing needs more than the memory budget of %zu bytes",
                       r->a->budget);
    r->p = p;
    r->cap = cap;
    return true;
}

static bool room_ends(room *r)
{
    if (r->packed && r->max < UNPACK_MAX_BYTES)
        err_set(r->e, ERR_LIMIT,
                "%zu compressed bytes become more than %zu, over %d times their size", r->packed,
                r->max, UNPACK_MAX_RATIO);
    else
        err_set(r->e, ERR_LIMIT, "decompressed size passes the limit of %zu bytes", r->max);
    return err_hint(r->e, "--max-bytes");
}

/* Makes room for at least one more byte. */
static bool room_double(room *r)
{
    if (r->cap == r->max) return room_ends(r);
    return room_grow(r, r->cap > r->max / 2 ? r->max : r->cap * 2);
}

/* Allocates the initial size: the size in the header, but at most the largest plausible output of
 * the input. */
static bool room_first(room *r, uint64_t claim, size_t n_in)
{
    size_t plausible;
    if (ckd_mul(&plausible, n_in, (size_t)PLAUSIBLE_RATIO)) plausible = SIZE_MAX;
    if (plausible < FIRST_ROOM) plausible = FIRST_ROOM;
    size_t cap = claim && claim < plausible ? (size_t)claim : plausible;
    return room_grow(r, cap);
}

/* Result of a codec: done (*used is the number of bytes consumed), more room needed, or damaged. */
typedef enum step { STEP_DONE, STEP_ROOM, STEP_BROKEN } step;

static step gzip_member(struct libdeflate_decompressor *d, str in, room *r, size_t *used)
{
    size_t made = 0;
    switch (libdeflate_gzip_decompress_ex(d, in.p, in.n, r->p + r->n, r->cap - r->n, used, &made)) {
    case LIBDEFLATE_SUCCESS: r->n += made; return STEP_DONE;
    case LIBDEFLATE_INSUFFICIENT_SPACE: return STEP_ROOM;
    default: return STEP_BROKEN;
    }
}

static step zstd_frame(ZSTD_DCtx *d, str in, room *r, size_t *used)
{
    size_t n = ZSTD_findFrameCompressedSize(in.p, in.n);
    if (ZSTD_isError(n)) return STEP_BROKEN;
    size_t made = ZSTD_decompressDCtx(d, r->p + r->n, r->cap - r->n, in.p, n);
    if (ZSTD_isError(made))
        return ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall ? STEP_ROOM : STEP_BROKEN;
    r->n += made;
    *used = n;
    return STEP_DONE;
}

/* The fast paths only detect damage; the stream decoder finds the position and the cause. */
static bool broken(str in, size_t max, err *e)
{
    memory_source m = memory_source_of(in);
    source *s = unpack_open(&m.s, max, e);
    char sink[16 * 1024];
    size_t got = 0;
    bool ok = s != NULL;
    do ok = ok && source_read(s, sink, sizeof sink, &got, e);
    while (ok && got);
    source_close(s);
    return err_set(e, ERR_MALFORMED, "compressed data is damaged");
}

static bool only_zeros(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i]) return false;
    return true;
}

static uint64_t claimed(codec c, str in)
{
    if (c == CODEC_GZIP) {
        uint32_t isize = 0;
        if (in.n >= GZIP_SMALLEST) memcpy(&isize, in.p + (in.n - 4), 4);
        return isize;
    }
    unsigned long long n = ZSTD_getFrameContentSize(in.p, in.n);
    return n >= ZSTD_CONTENTSIZE_ERROR ? 0 : n;
}

static bool take_layer(codec c, str in, room r, str *out)
{
    err *e = r.e;
    size_t max = r.max;
    if (!room_first(&r, claimed(c, in), in.n)) return false;
    struct libdeflate_decompressor *gz = c == CODEC_GZIP ? libdeflate_alloc_decompressor() : NULL;
    ZSTD_DCtx *zs = c == CODEC_ZSTD ? ZSTD_createDCtx() : NULL;
    bool ok = gz || zs;
    if (!ok) err_memory(e);
    for (str left = in; ok && left.n;) {
        size_t used = 0;
        step s = gz ? gzip_member(gz, left, &r, &used) : zstd_frame(zs, left, &r, &used);
        if (s == STEP_ROOM) {
            ok = room_double(&r);
        } else if (s == STEP_BROKEN) {
            bool padding = left.n < in.n && only_zeros(left); /* tapes and some uploaders pad */
            if (padding) break;
            ok = broken(in, max, e);
        } else {
            left = (str){left.p + used, left.n - used};
        }
    }
    libdeflate_free_decompressor(gz);
    ZSTD_freeDCtx(zs);
    if (!ok) return false;
    arena_trim(r.a, r.p, r.cap, r.n);
    *out = (str){(const char *)r.p, r.n};
    return true;
}

bool unpack_layer(codec c, str in, size_t max, arena *a, str *out, err *e)
{
    return take_layer(c, in, (room){.a = a, .max = max, .e = e}, out);
}

size_t unpack_allowance(size_t packed)
{
    size_t n;
    if (ckd_mul(&n, packed, (size_t)UNPACK_MAX_RATIO) || n > UNPACK_MAX_BYTES)
        return UNPACK_MAX_BYTES;
    return n < UNPACK_FREE_BYTES ? UNPACK_FREE_BYTES : n;
}

bool unpack(str in, size_t max_bytes, arena *a, unpacked *out, err *e)
{
    *out = (unpacked){.bytes = in};
    room r = {.a = a, .e = e};
    r.max = max_bytes ? max_bytes : unpack_allowance(in.n);
    r.packed = max_bytes ? 0 : in.n;
    for (codec c; (c = codec_detect(out->bytes)) != CODEC_NONE;) {
        if (out->n_layers == UNPACK_MAX_LAYERS)
            return err_set(e, ERR_LIMIT, "more than %d layers of compression", UNPACK_MAX_LAYERS);
        if (!take_layer(c, out->bytes, r, &out->bytes)) return false;
        out->layers[out->n_layers++] = c;
    }
    return true;
}

static bool pack_at(codec c, int level, str in, buf *out, err *e)
{
    size_t made = 0;
    if (c == CODEC_NONE) {
        buf_str(out, in);
    } else if (c == CODEC_GZIP) {
        struct libdeflate_compressor *z = libdeflate_alloc_compressor(level);
        if (z && buf_reserve(out, libdeflate_gzip_compress_bound(z, in.n)))
            made = libdeflate_gzip_compress(z, in.p, in.n, out->p + out->n, out->cap - out->n);
        libdeflate_free_compressor(z);
        out->failed |= made == 0;
    } else {
        ZSTD_CCtx *z = ZSTD_createCCtx();
        if (z && buf_reserve(out, ZSTD_compressBound(in.n))) {
            ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 3);
            ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
            made = ZSTD_compress2(z, out->p + out->n, out->cap - out->n, in.p, in.n);
            if (ZSTD_isError(made)) made = 0;
        }
        ZSTD_freeCCtx(z);
        out->failed |= made == 0;
    }
    out->n += made;
    if (out->failed)
        return err_set(e, ERR_MEMORY, "out of memory while compressing %zu bytes", in.n);
    return true;
}

bool pack(codec c, str in, buf *out, err *e) { return pack_at(c, 6, in, out, e); }
bool pack_quick(codec c, str in, buf *out, err *e) { return pack_at(c, 1, in, out, e); }

static bool memory_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    (void)e;
    memory_source *m = (memory_source *)s;
    *got = n < m->left.n ? n : m->left.n;
    if (*got) memcpy(p, m->left.p, *got);
    m->left = (str){m->left.p + *got, m->left.n - *got};
    return true;
}

memory_source memory_source_of(str bytes)
{
    return (memory_source){.s = {.read = memory_read}, .left = {bytes.n ? bytes.p : "", bytes.n}};
}
