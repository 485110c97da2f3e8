#include "sys/heap.h"

#include "base/ban.h"
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HUGE_PAGE = 2 << 20,
    /* Address space, not memory: pages that are not touched do not exist. */
    HEAP_REGION = 256 << 20,
    /* From here on a piece has a mapping of its own, which realloc grows without copying. */
    HEAP_LARGE = 32 << 20,
};

void heap_in_huge_pages(void)
{
    if (!mallopt(M_MMAP_THRESHOLD, HEAP_LARGE) || !mallopt(M_TOP_PAD, HEAP_REGION)) return;
    mallopt(M_TRIM_THRESHOLD, HEAP_REGION); /* what is freed is wanted again soon */
    uintptr_t begin = ((uintptr_t)sbrk(0) + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    void *first = malloc(HUGE_PAGE);     /* more than the heap has: makes the region */
    __asm__ volatile("" : : "r"(first)); /* or the compiler sees that nobody needs it */
    free(first);
    uintptr_t end = (uintptr_t)sbrk(0);
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    mallopt(M_TOP_PAD, 64 * 1024);
}
