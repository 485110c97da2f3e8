/* base/source.h - a stream of bytes: a file, a pipe, a decompressed stream. */
#pragma once
#include "base/err.h"

typedef struct source source;

struct source {
    /* Reads up to n bytes into p; *got is 0 only at the end. Returns false with the reason in `e`;
     * all later calls then fail. */
    bool (*read)(source *s, void *p, size_t n, size_t *got, err *e);
    void (*close)(source *s); /* frees the source and all that it owns; NULL: nothing to free */
};

static inline NODISCARD bool source_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    return s->read(s, p, n, got, e);
}

static inline void source_close(source *s)
{
    if (s && s->close) s->close(s);
}
