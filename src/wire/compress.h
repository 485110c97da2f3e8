/* wire/compress.h - gzip and zstd, detected by their magic: several layers, limited output.
 *
 * Sizes in headers are hints.  Memory grows only as bytes are produced, so a small input with a
 * large size in its header costs little. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/source.h"
#include "base/str.h"

typedef enum codec { CODEC_NONE, CODEC_GZIP, CODEC_ZSTD } codec;

enum {
    UNPACK_MAX_LAYERS = 4,       /* nested, such as gzip inside zstd */
    UNPACK_MAX_BYTES = 1u << 30, /* default cap on the decompressed size */
    /* The size of the compressed input limits memory and time too: without an explicit cap an input may
     * grow to UNPACK_MAX_RATIO times its size, and to UNPACK_FREE_BYTES in any case.  Real profiles stay
     * under 60:1; gzip reaches 1032:1 with zeros. */
    UNPACK_MAX_RATIO = 256,
    UNPACK_FREE_BYTES = 64 << 20,
};

codec codec_detect(str head);    /* from the first 4 bytes */
const char *codec_name(codec c); /* "gzip" */
codec codec_of_suffix(str path); /* ".gz", ".zst", ".zstd"; else CODEC_NONE */

typedef struct unpacked {
    str bytes; /* the input itself, or memory of the arena */
    codec layers[UNPACK_MAX_LAYERS];
    size_t n_layers; /* outermost first */
} unpacked;

/* Returns the default limit for the decompressed size of `packed` compressed bytes. */
size_t unpack_allowance(size_t packed);

/* Removes every layer of compression from `in`.  max_bytes limits the output of each layer (0 means
 * unpack_allowance(in.n)).  Fails with ERR_MALFORMED and the byte in the damaged layer, with
 * ERR_LIMIT at max_bytes or UNPACK_MAX_LAYERS, or with ERR_MEMORY at the arena's budget. */
NODISCARD bool unpack(str in, size_t max_bytes, arena *a, unpacked *out, err *e);

/* Removes one layer of this codec.  max_bytes has no default. */
NODISCARD bool unpack_layer(codec c, str in, size_t max_bytes, arena *a, str *out, err *e);

/* Removes every layer as a stream, in bounded memory (about 200 kB per layer, plus zstd's window of
 * at most 128 MiB).  Reads the first bytes of `from` immediately.  max_bytes limits the output of
 * each layer; 0 means no limit.  The result owns `from`; source_close frees both.  On failure,
 * closes `from` and returns NULL. */
NODISCARD source *unpack_open(source *from, uint64_t max_bytes, err *e);

/* Fills layers[], outermost first, and returns their number. */
size_t unpack_layers(const source *opened, codec layers[UNPACK_MAX_LAYERS]);

/* Appends the compressed bytes: gzip at level 6, or zstd at level 3 with a checksum.  The same
 * input always gives the same bytes.  CODEC_NONE appends the input. */
NODISCARD bool pack(codec c, str in, buf *out, err *e);
/* Like pack, but with gzip at its fastest level: a third of the time, a tenth larger. */
NODISCARD bool pack_quick(codec c, str in, buf *out, err *e);

/* A streaming pack_quick for gzip: one member, about 300 kB of memory.  packer_open returns NULL
 * when out of memory. */
typedef struct packer packer;
NODISCARD packer *packer_open(void);
/* Compresses `in` and appends the bytes that are complete to `out`; with `last`, all bytes. */
NODISCARD bool packer_put(packer *p, str in, bool last, buf *out, err *e);
void packer_close(packer *p); /* accepts NULL */

/* A source that reads from memory; closing it does nothing. */
typedef struct memory_source {
    source s;
    str left;
} memory_source;
memory_source memory_source_of(str bytes);
