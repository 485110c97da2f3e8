/* ctx/memory.h - the memory of another process, parts of which may be unmapped.  Tests provide
 * their own implementation. */
#pragma once
#include "base/compiler.h"

typedef struct memory memory;
struct memory {
    /* reads all n bytes, or returns false */
    bool (*read)(const memory *m, uint64_t at, void *p, size_t n);
    int pid;
};

static inline NODISCARD bool memory_read(const memory *m, uint64_t at, void *p, size_t n)
{
    return m->read(m, at, p, n);
}

static inline NODISCARD bool memory_u64(const memory *m, uint64_t at, uint64_t *v)
{
    return m->read(m, at, v, sizeof *v);
}
