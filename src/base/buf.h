/* base/buf.h - bytes being written, owned by the buffer, with a limit. */
#pragma once
#include "base/compiler.h"
#include "base/str.h"
#include <stdarg.h>

typedef struct buf {
    char *p;       /* n bytes written; not terminated */
    size_t n, cap; /* cap counts from p */
    size_t head;   /* free bytes before p, which a backward writer leaves */
    size_t limit;  /* the largest n; 0: no limit */
    bool failed;   /* a write did not fit or memory ran out; later writes are dropped */
} buf;

bool buf_reserve(buf *b, size_t more); /* returns false and sets `failed` when it cannot grow */
void buf_put(buf *b, const void *p, size_t n);
void buf_putc(buf *b, char c);
void buf_str(buf *b, str s);
void buf_z(buf *b, const char *z);
void buf_printf(buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_u64(buf *b, uint64_t v); /* decimal */
void buf_i64(buf *b, int64_t v);
void buf_reset(buf *b); /* empties the buffer, keeps its memory */
static inline str buf_view(const buf *b) { return (str){b->p, b->n}; }
void buf_free(buf *b);
