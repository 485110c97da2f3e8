/* The streaming decoder of compress.h: a source that decompresses with zlib or zstd. */
#include "wire/compress.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "base/ban.h"
#include <inttypes.h>

enum { CHUNK = 64 * 1024 };

/* One layer.  The innermost has CODEC_NONE and only passes bytes through.
 *     from ──► in[at..n) ──► inflate ──► reader */
typedef struct layer {
    source s;
    source *from;
    codec codec;
    bool ended;         /* `from` is at its end */
    bool inside;        /* in the middle of a member or frame */
    bool failed;        /* permanent */
    bool may_end;       /* at least one member is complete */
    size_t at, n;       /* unread part of in[] */
    uint64_t before;    /* bytes of `from` before in[0] */
    uint64_t made, max; /* decompressed bytes so far, and their limit */
    z_stream gz;
    ZSTD_DStream *zs;
    uint8_t in[CHUNK];
} layer;

static uint64_t position(const layer *l) { return l->before + l->at; }

static bool fail(layer *l, err_code code, err *e, const char *why)
{
    l->failed = true;
    return err_at(e, code, position(l), "%s %s", codec_name(l->codec), why);
}

/* Refills an empty in[]. */
static bool fill(layer *l, err *e)
{
    if (l->at < l->n || l->ended) return true;
    l->before += l->n;
    l->at = l->n = 0;
    if (!source_read(l->from, l->in, CHUNK, &l->n, e)) return !(l->failed = true);
    l->ended = l->n == 0;
    return true;
}

static bool gzip_step(layer *l, uint8_t *p, size_t n, size_t *got, err *e)
{
    l->gz.next_in = l->in + l->at;
    l->gz.avail_in = (uInt)(l->n - l->at);
    l->gz.next_out = p;
    l->gz.avail_out = (uInt)n;
    int rc = inflate(&l->gz, Z_NO_FLUSH);
    l->at = l->n - l->gz.avail_in;
    *got = n - l->gz.avail_out;
    if (rc == Z_STREAM_END) {
        l->inside = false;
        return inflateReset(&l->gz) == Z_OK || fail(l, ERR_LIMIT, e, "state could not be reset");
    }
    if (rc == Z_OK || rc == Z_BUF_ERROR) return true;
    if (rc == Z_MEM_ERROR) return fail(l, ERR_MEMORY, e, "ran out of memory");
    const char *m = l->gz.msg ? l->gz.msg : "";
    if (!strcmp(m, "incorrect data check"))
        return fail(l, ERR_MALFORMED, e, "checksum does not match");
    if (!strcmp(m, "incorrect length check"))
        return fail(l, ERR_MALFORMED, e, "length does not match");
    char why[80];
    snprintf(why, sizeof why, "data is damaged (%s)", m);
    return fail(l, ERR_MALFORMED, e, why);
}

static bool zstd_step(layer *l, uint8_t *p, size_t n, size_t *got, err *e)
{
    ZSTD_inBuffer in = {l->in, l->n, l->at};
    ZSTD_outBuffer out = {p, n, 0};
    size_t rc = ZSTD_decompressStream(l->zs, &out, &in);
    l->at = in.pos;
    *got = out.pos;
    if (rc == 0) l->inside = false;
    if (!ZSTD_isError(rc)) return true;
    switch (ZSTD_getErrorCode(rc)) {
    case ZSTD_error_checksum_wrong: return fail(l, ERR_MALFORMED, e, "checksum does not match");
    case ZSTD_error_frameParameter_windowTooLarge:
        return fail(l, ERR_LIMIT, e, "window is larger than 128 MiB");
    case ZSTD_error_dictionary_wrong:
        return fail(l, ERR_UNSUPPORTED, e, "frame needs a dictionary");
    case ZSTD_error_memory_allocation: return fail(l, ERR_MEMORY, e, "ran out of memory");
    default: break;
    }
    char why[80];
    snprintf(why, sizeof why, "data is damaged (%s)", ZSTD_getErrorName(rc));
    return fail(l, ERR_MALFORMED, e, why);
}

/* Called between members.  Sets l->inside if another member starts; leaves it false at the end. */
static bool next_member(layer *l, err *e)
{
    bool padding = false;
    for (;;) {
        if (!fill(l, e)) return false;
        if (l->ended) return true;
        if (!l->may_end) break;
        while (l->at < l->n && l->in[l->at] == 0) padding = true, l->at++;
        if (l->at < l->n) break;
    }
    uint8_t first = l->in[l->at];
    bool begins = !padding && (l->codec == CODEC_GZIP ? first == 0x1f
                                                      : first == 0x28 || (first & 0xf0) == 0x50);
    if (!begins) return fail(l, ERR_MALFORMED, e, "data is followed by other bytes");
    return l->inside = l->may_end = true;
}

static bool inflate_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    layer *l = (layer *)s;
    *got = 0;
    if (l->failed)
        return err_set(e, ERR_MALFORMED, "the %s stream failed earlier", codec_name(l->codec));
    if (n > UINT32_MAX) n = UINT32_MAX;
    while (n && !*got) {
        if (!l->inside && !next_member(l, e)) return false;
        if (!l->inside) return true;
        if (!fill(l, e)) return false;
        size_t before = l->at;
        if (!(l->codec == CODEC_GZIP ? gzip_step : zstd_step)(l, p, n, got, e)) return false;
        if (l->ended && l->inside && !*got && l->at == before)
            return fail(l, ERR_MALFORMED, e, "data is truncated");
    }
    l->made += *got;
    if (l->max && l->made > l->max) {
        l->failed = true;
        err_set(e, ERR_LIMIT, "decompressed size passes the limit of %" PRIu64 " bytes", l->max);
        return err_hint(e, "--max-bytes");
    }
    return true;
}

static bool plain_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    layer *l = (layer *)s;
    size_t have = l->n - l->at;
    if (!have) return source_read(l->from, p, n, got, e);
    *got = have < n ? have : n;
    memcpy(p, l->in + l->at, *got);
    l->at += *got;
    return true;
}

static void layer_close(source *s)
{
    layer *l = (layer *)s;
    if (l->codec == CODEC_GZIP) inflateEnd(&l->gz);
    ZSTD_freeDStream(l->zs);
    source_close(l->from);
    free(l);
}

/* Reads until the magic number is complete, because a pipe may deliver single bytes. */
static bool peek(layer *l, err *e)
{
    while (l->n < 4) {
        size_t got = 0;
        if (!source_read(l->from, l->in + l->n, CHUNK - l->n, &got, e)) return false;
        if (!got) break;
        l->n += got;
    }
    return true;
}

static bool start(layer *l, err *e)
{
    l->s.read = l->codec == CODEC_NONE ? plain_read : inflate_read;
    if (l->codec == CODEC_GZIP && inflateInit2(&l->gz, 15 + 16) != Z_OK) {
        l->codec = CODEC_NONE;
        return err_memory(e);
    }
    if (l->codec == CODEC_ZSTD && !(l->zs = ZSTD_createDStream())) return err_memory(e);
    return true;
}

static source *layer_open(source *from, uint64_t max_bytes, err *e)
{
    layer *l = calloc(1, sizeof *l);
    if (!l) {
        source_close(from);
        err_memory(e);
        return NULL;
    }
    l->s.close = layer_close;
    l->from = from;
    l->max = max_bytes;
    if (peek(l, e)) {
        l->codec = codec_detect((str){(const char *)l->in, l->n});
        if (start(l, e)) return &l->s;
    }
    layer_close(&l->s);
    return NULL;
}

source *unpack_open(source *from, uint64_t max_bytes, err *e)
{
    source *s = from;
    for (int depth = 0; (s = layer_open(s, max_bytes, e)); depth++) {
        if (((layer *)s)->codec == CODEC_NONE) return s;
        if (depth == UNPACK_MAX_LAYERS) {
            source_close(s);
            err_set(e, ERR_LIMIT, "more than %d layers of compression", UNPACK_MAX_LAYERS);
            return NULL;
        }
    }
    return NULL;
}

size_t unpack_layers(const source *opened, codec layers[UNPACK_MAX_LAYERS])
{
    codec inner_first[UNPACK_MAX_LAYERS];
    size_t n = 0;
    const source *s = ((const layer *)opened)->from;
    for (; n < UNPACK_MAX_LAYERS && s->read == inflate_read; s = ((const layer *)s)->from)
        inner_first[n++] = ((const layer *)s)->codec;
    for (size_t i = 0; i < n; i++) layers[i] = inner_first[n - 1 - i];
    return n;
}
