/* Memory in huge pages. Used by the tables of known.c and by arenas of compaction. */
#include "store/huge.h"

#include <sys/mman.h>
#include "base/ban.h"

enum { HUGE = 2 << 20, PAGE = 4096 };

void *huge_zero(size_t n)
{
    if (n < HUGE) return calloc(1, n);
    size_t all = (n + HUGE - 1) & ~(size_t)(HUGE - 1);
    void *p = all >= n ? aligned_alloc(HUGE, all) : NULL;
    if (!p) return NULL;
    (void)madvise(p, all, MADV_HUGEPAGE);
    return memset(p, 0, n);
}

void huge_reserve(arena *a, size_t n)
{
    if (!arena_reserve(a, n)) return;
    char *p = arena_alloc(a, 0); /* where the next allocation begins */
    size_t off = p ? -(uintptr_t)p & (PAGE - 1) : n;
    if (off < n) (void)madvise(p + off, (n - off) & ~(size_t)(PAGE - 1), MADV_HUGEPAGE);
}
