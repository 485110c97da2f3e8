/* symbol/cache.h - symbol indexes stored on disk between runs.
 *
 * Entries are written under a temporary name and renamed, so that readers in any number of
 * processes see only complete files. Reading an entry updates its time; when the directory exceeds
 * its limit, the least recently used entries are deleted. A damaged entry is built again. A failure
 * of the cache never fails a symbolization: indexes are then built each time. */
#pragma once
#include "sys/file.h"

#define CACHE_DEFAULT_BYTES ((uint64_t)1 << 30)

typedef struct symbol_cache {
    char *dir; /* NULL: no cache */
    uint64_t max_bytes;
    uint32_t hits, misses, written, evicted, failed;
} symbol_cache;

/* Opens the cache. `dir` NULL means XDG_CACHE_HOME/kiln/symbols or ~/.cache/kiln/symbols; "" means
 * no cache. */
void cache_open(symbol_cache *c, const char *dir, uint64_t max_bytes);
void cache_close(symbol_cache *c);

/* Reads the entry of a key (letters, digits, - and .). Returns false if there is none. The bytes
 * are not verified. */
NODISCARD bool cache_get(symbol_cache *c, const char *key, file_bytes *out);
void cache_put(symbol_cache *c, const char *key, str bytes);
