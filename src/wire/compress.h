/* wire/compress.h - gzip and zstd, found by their magic; several layers, a cap on what comes out.
 *
 * Nothing a header claims is believed: sizes are hints, and memory grows only as fast as bytes are
 * really produced, so a small input costs little until it proves to be large. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/source.h"
#include "base/str.h"

typedef enum codec { CODEC_NONE, CODEC_GZIP, CODEC_ZSTD } codec;

enum {
    UNPACK_MAX_LAYERS = 4,       /* gzip in gzip in zstd ... */
    UNPACK_MAX_BYTES = 1u << 30, /* default cap on the decompressed size */
    /* Memory and time follow the size of the compressed input, too: an input that nobody gave another
     * cap may become UNPACK_MAX_RATIO times as large, and UNPACK_FREE_BYTES in any case.  Real profiles
     * stay under 60:1; gzip reaches 1032:1 with zeros. */
    UNPACK_MAX_RATIO = 256,
    UNPACK_FREE_BYTES = 64 << 20,
};

codec codec_detect(str head);    /* from the first 4 bytes */
const char *codec_name(codec c); /* "gzip" */
codec codec_of_suffix(str path); /* ".gz", ".zst"; else CODEC_NONE */

typedef struct unpacked {
    str bytes; /* the input itself, or memory of the arena */
    codec layers[UNPACK_MAX_LAYERS];
    size_t n_layers; /* outermost first */
} unpacked;

/* How much may come out of `packed` compressed bytes when nobody gave a cap. */
size_t unpack_allowance(size_t packed);

/* Takes every layer of compression off `in`.  At most max_bytes come out of a layer (0 means
 * unpack_allowance(in.n)).  ERR_MALFORMED (cut off, checksum, damaged) with the byte in the layer that
 * is broken, ERR_LIMIT at the cap, the layers or the arena's budget. */
NODISCARD bool unpack(str in, size_t max_bytes, arena *a, unpacked *out, err *e);

/* Takes one layer of this codec off, and no other.  max_bytes is meant. */
NODISCARD bool unpack_layer(codec c, str in, size_t max_bytes, arena *a, str *out, err *e);

/* The same piece by piece in bounded memory (about 200 kB a layer, plus zstd's window of at most
 * 128 MiB).  Reads the first bytes of `from` at once.  max_bytes caps each layer; 0 = no cap.
 * The result owns `from` and is given back by source_close; NULL: `e` says why, `from` is closed. */
NODISCARD source *unpack_open(source *from, uint64_t max_bytes, err *e);

/* What it turned out to be: layers, outermost first; returns how many. */
size_t unpack_layers(const source *opened, codec layers[UNPACK_MAX_LAYERS]);

/* Appends the compressed form: gzip as gzip -6 does it, zstd at level 3 with checksum.  The same
 * input always gives the same bytes.  CODEC_NONE appends the bytes themselves. */
NODISCARD bool pack(codec c, str in, buf *out, err *e);
/* The same, gzip at its quickest level: a third of the time, a tenth larger. */
NODISCARD bool pack_quick(codec c, str in, buf *out, err *e);

/* pack_quick piece by piece, for gzip: one member, about 300 kB of memory.  NULL: out of memory. */
typedef struct packer packer;
NODISCARD packer *packer_open(void);
/* Appends to `out` what is complete of the compressed form of everything so far; with `last` the rest of it. */
NODISCARD bool packer_put(packer *p, str in, bool last, buf *out, err *e);
void packer_close(packer *p); /* NULL is fine */

/* Reads from memory; close does nothing. */
typedef struct memory_source {
    source s;
    str left;
} memory_source;
memory_source memory_source_of(str bytes);
