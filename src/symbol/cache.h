/* symbol/cache.h - indexes kept on disk between runs.
 *
 * A directory of files that are only ever made under another name and renamed, so that readers of any
 * number of processes see whole ones.  Using an entry touches it; when the directory grows beyond its
 * limit the entries unused for longest go.  An entry that is damaged is made anew.  Nothing here can
 * fail a symbolization: without a cache, or with one that cannot be written, indexes are just built. */
#pragma once
#include "sys/file.h"

#define CACHE_DEFAULT_BYTES ((uint64_t)1 << 30)

typedef struct symbol_cache {
    char *dir; /* NULL: no cache */
    uint64_t max_bytes;
    uint32_t hits, misses, written, evicted, failed;
} symbol_cache;

/* dir: NULL means XDG_CACHE_HOME/kiln/symbols, or ~/.cache/kiln/symbols; "" means none. */
void cache_open(symbol_cache *c, const char *dir, uint64_t max_bytes);
void cache_close(symbol_cache *c);

/* The entry of a key (letters, digits, - and .); false: not there.  Its bytes are not checked. */
NODISCARD bool cache_get(symbol_cache *c, const char *key, file_bytes *out);
void cache_put(symbol_cache *c, const char *key, str bytes);
