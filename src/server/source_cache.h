/* server/source_cache.h - source files that the server fetched, and for a while that there are none.
 * The least recently used entries give way.  It only allocates memory. */
#pragma once
#include "base/buf.h"

enum { SOURCE_CACHE_ENTRIES = 1024 };
#define SOURCE_CACHE_BYTES ((size_t)32 << 20)

typedef struct source_entry {
    buf key;
    buf text;        /* the file, or why there is none */
    unsigned status; /* of HTTP: 200 for a file */
    uint64_t until;  /* world_now when it is forgotten; UINT64_MAX: never */
    struct source_entry *next;
} source_entry;

typedef struct source_cache {
    source_entry *first; /* most recently used */
    size_t n, bytes;     /* of keys and texts */
} source_cache;

/* Returns the entry of a key, valid until the next call of source_cache_put or _clear, or NULL. */
const source_entry *source_cache_find(source_cache *c, str key, uint64_t now);

/* Stores an entry in place of another one with its key.  Takes the memory of *text, also when it
 * does not fit. */
void source_cache_put(source_cache *c, str key, unsigned status, buf *text, uint64_t until);

void source_cache_clear(source_cache *c);
