#include "sys/heap.h"

#include "base/ban.h"
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HUGE_PAGE = 2 << 20,
    /* Most commands fit into this.  More is not better: what a large table leaves behind when it moves
     * out of the region to grow stays resident. */
    HEAP_REGION = 12 << 20,
    /* Beyond the region, pieces from here on have a mapping of their own, which realloc grows without
     * copying.  It is glibc's own number; naming it keeps it from growing. */
    HEAP_LARGE = 128 << 10,
};

void heap_in_huge_pages(void)
{
    if (!mallopt(M_MMAP_THRESHOLD, HEAP_LARGE) || !mallopt(M_TOP_PAD, HEAP_REGION)) return;
    mallopt(M_TRIM_THRESHOLD, HEAP_REGION); /* what is freed is wanted again soon */
    uintptr_t begin = ((uintptr_t)sbrk(0) + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    void *first = malloc(HEAP_LARGE - 1024); /* more than the heap has: makes the region */
    __asm__ volatile("" : : "r"(first));     /* or the compiler sees that nobody needs it */
    free(first);
    uintptr_t end = (uintptr_t)sbrk(0);
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    mallopt(M_TOP_PAD, 64 * 1024);
}

/* memory.max of our own control group (version 2); UINT64_MAX: none, or "max". */
static uint64_t group_limit(void)
{
    char path[512] = "", file[600];
    uint64_t limit = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool own = f && fscanf(f, "0::%511[^\n]", path) == 1;
    if (f) fclose(f);
    if (!own) return limit;
    snprintf(file, sizeof file, "/sys/fs/cgroup%s/memory.max", path);
    f = fopen(file, "re");
    if (f && fscanf(f, "%" SCNu64, &limit) != 1) limit = UINT64_MAX;
    if (f) fclose(f);
    return limit;
}

uint64_t heap_machine_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    uint64_t group = group_limit();
    return group < all ? group : all;
}
