/* ctx/memory.h - memory of somebody else, which need not be there.  Tests hand in their own. */
#pragma once
#include "base/compiler.h"

typedef struct memory memory;
struct memory {
    bool (*read)(const memory *m, uint64_t at, void *p, size_t n); /* all n bytes or false */
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
