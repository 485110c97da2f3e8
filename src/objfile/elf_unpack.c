/* Decompresses sections and the ELF file inside .gnu_debugdata, and reads references to separate
 * debug files. The claimed size of a section is compared with the highest possible compression
 * ratio before memory is allocated. */
#include "objfile/elf.h"

#include "objfile/rd.h"
#include <libdeflate.h>
#include <lzma.h>
#include <zstd.h>
#include "base/ban.h"

enum { CHDR_ZLIB = 1, CHDR_ZSTD = 2, LZMA_MEMORY = 256 << 20, FIRST_GUESS = 4 };

static bool bad(err *e, const elf_section *s, const char *why)
{
    return err_at(e, ERR_MALFORMED, s->offset, "section %.*s %s", STR_ARG(s->name), why);
}

static bool inflate_zlib(str in, char *out, size_t n)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    size_t got = 0;
    bool ok = d && libdeflate_zlib_decompress(d, in.p, in.n, out, n, &got) == LIBDEFLATE_SUCCESS;
    if (d) libdeflate_free_decompressor(d);
    return ok && got == n;
}

static bool inflate(const elf_section *s, uint32_t kind, str in, uint64_t size, arena *a, str *out,
                    err *e)
{
    if (kind != CHDR_ZLIB && kind != CHDR_ZSTD) return bad(e, s, "uses an unknown compression");
    /* Deflate expands at most 1032 times; zstd frames state their true size or fail. */
    if (kind == CHDR_ZLIB && size / 1033 > in.n)
        return bad(e, s, "claims an impossible decompressed size");
    char *p = size <= SIZE_MAX ? arena_alloc(a, (size_t)size) : NULL;
    if (!p) return err_memory(e);
    bool ok = kind == CHDR_ZLIB ? inflate_zlib(in, p, (size_t)size)
                                : ZSTD_decompress(p, (size_t)size, in.p, in.n) == size;
    if (!ok) return bad(e, s, "does not decompress");
    *out = (str){p, (size_t)size};
    return true;
}

bool elf_section_bytes(const elf_file *f, const elf_section *s, arena *a, str *out, err *e)
{
    *out = (str){"", 0};
    if (s->type == ELF_NOBITS || s->offset > f->bytes.n || s->size > f->bytes.n - s->offset)
        return true;
    str raw = {f->bytes.p + s->offset, (size_t)s->size};
    rd r = rd_of(raw, f->big);
    if (s->flags & ELF_FLAG_COMPRESSED) {
        uint32_t kind = rd_u32(&r);
        if (f->is64) rd_u32(&r);
        uint64_t size = f->is64 ? rd_u64(&r) : rd_u32(&r);
        rd_skip(&r, f->is64 ? 8 : 4);
        if (r.failed) return bad(e, s, "is compressed but too short for a compression header");
        return inflate(s, kind, (str){(const char *)r.p, rd_left(&r)}, size, a, out, e);
    }
    if (str_starts(s->name, STR(".zdebug")) && str_starts(raw, STR("ZLIB"))) {
        r = rd_from(raw, 4, true);
        uint64_t size = rd_u64(&r);
        if (r.failed) return bad(e, s, "is compressed but too short for a compression header");
        return inflate(s, CHDR_ZLIB, (str){(const char *)r.p, rd_left(&r)}, size, a, out, e);
    }
    *out = raw;
    return true;
}

/* ---- links to other files ---- */

static str small_section(const elf_file *f, str name)
{
    const elf_section *s = elf_section_named(f, name);
    if (!s || s->type == ELF_NOBITS || s->offset > f->bytes.n || s->size > f->bytes.n - s->offset)
        return (str){"", 0};
    return (str){f->bytes.p + s->offset, (size_t)s->size};
}

elf_link elf_debug_link(const elf_file *f)
{
    rd r = rd_of(small_section(f, STR(".gnu_debuglink")), f->big);
    const uint8_t *begin = r.p;
    elf_link l = {.name = rd_z(&r)};
    rd_skip(&r, (4 - (size_t)(r.p - begin) % 4) % 4);
    l.crc = rd_u32(&r);
    return r.failed ? (elf_link){.name = {"", 0}} : l;
}

elf_link elf_alt_link(const elf_file *f)
{
    rd r = rd_of(small_section(f, STR(".gnu_debugaltlink")), f->big);
    elf_link l = {.name = rd_z(&r)};
    l.build_id = (str){(const char *)r.p, rd_left(&r)};
    return r.failed ? (elf_link){.name = {"", 0}} : l;
}

uint32_t elf_crc(str bytes) { return libdeflate_crc32(0, bytes.p, bytes.n); }

/* ---- MiniDebugInfo ---- */

/* Decompresses to the end of the stream into a growing buffer; sets *n to the size of the
 * result. */
static bool unxz(lzma_stream *z, size_t max, arena *a, char **out, size_t *n, err *e)
{
    for (size_t cap = 0;;) {
        if (*n == cap) {
            size_t more = cap ? cap * 2 : z->avail_in * FIRST_GUESS + 4096;
            if (more > max) more = max;
            char *p = more > cap ? arena_grow(a, *out, cap, more) : NULL;
            if (!p)
                return err_set(e, ERR_LIMIT, "the symbols in .gnu_debugdata exceed the size limit");
            *out = p;
            cap = more;
        }
        z->next_out = (uint8_t *)*out + *n;
        z->avail_out = cap - *n;
        lzma_ret ret = lzma_code(z, LZMA_FINISH);
        *n = cap - z->avail_out;
        if (ret == LZMA_STREAM_END) return true;
        if (ret != LZMA_OK) return err_set(e, ERR_MALFORMED, ".gnu_debugdata does not decompress");
    }
}

bool elf_debug_data(const elf_file *f, size_t max_bytes, arena *a, str *out, err *e)
{
    *out = (str){"", 0};
    str in = small_section(f, STR(".gnu_debugdata"));
    if (!in.n) return true;
    lzma_stream z = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&z, LZMA_MEMORY, 0) != LZMA_OK)
        return err_set(e, ERR_MEMORY, "out of memory for .gnu_debugdata");
    z.next_in = (const uint8_t *)in.p;
    z.avail_in = in.n;
    char *p = arena_alloc(a, 0);
    size_t n = 0;
    bool ok = p && unxz(&z, max_bytes, a, &p, &n, e);
    lzma_end(&z);
    if (ok) *out = (str){p, n};
    return ok;
}
