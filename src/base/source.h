/* base/source.h - bytes that arrive piece by piece: a file, a pipe, a stream being inflated. */
#pragma once
#include "base/err.h"

typedef struct source source;

struct source {
    /* Up to n bytes into p; *got = 0 only at the end.  false: `e` says why, and it stays failed. */
    bool (*read)(source *s, void *p, size_t n, size_t *got, err *e);
    void (*close)(source *s); /* gives back what it owns, itself included; NULL: nothing */
};

static inline NODISCARD bool source_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    return s->read(s, p, n, got, e);
}

static inline void source_close(source *s)
{
    if (s && s->close) s->close(s);
}
