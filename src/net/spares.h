/* net/spares.h - buffers of bodies that were let go, for those that come next: the first touch of a page costs more than what
 * is put on it.  Bounded in number and size; one thread. */
#pragma once
#include "base/buf.h"

enum { SPARES_CLASSES = 3, SPARES_MOST = 128, SPARES_ROOM = 4096 };

/* The zero value is empty. */
typedef struct spares {
    struct {
        char *v[SPARES_MOST];
        size_t n;
    } of[SPARES_CLASSES];
} spares;

/* Gives a buffer without memory room for `want` bytes, or for the first megabyte of them: who only says that much will come should
 * not have all of it at once.  Before it lies a page that is the buffer's, too (head): what is put there makes a copy
 * unnecessary. */
void spares_take(spares *s, size_t want, buf *b);
/* Takes the memory of a buffer, which is empty then and keeps its limit. */
void spares_give(spares *s, buf *b);
void spares_free(spares *s);
