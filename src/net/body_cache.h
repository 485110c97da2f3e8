/* net/body_cache.h - reuses the buffers of request bodies, because the first access to fresh memory
 * costs more than writing to it.  The number and size of the buffers are limited.  Not
 * thread-safe. */
#pragma once
#include "base/buf.h"

enum { BODY_CACHE_CLASSES = 3, BODY_CACHE_MOST = 128, BODY_CACHE_ROOM = 4096 };

/* The zero value is empty. */
typedef struct body_cache {
    struct {
        char *v[BODY_CACHE_MOST];
        size_t n;
    } of[BODY_CACHE_CLASSES];
} body_cache;

/* Gives the empty buffer b memory for `want` bytes, but at most a megabyte, because an announced
 * length is not trusted.  A page in front of the bytes (b->head) allows the store to write the body
 * without a copy. */
void body_cache_take(body_cache *s, size_t want, buf *b);
/* Moves the memory of b into the cache; b is then empty and keeps its limit. */
void body_cache_give(body_cache *s, buf *b);
void body_cache_free(body_cache *s);
