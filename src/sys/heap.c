/* Configures malloc for short-lived commands, and reads memory limits. */
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
    /* Enough for most commands.  A larger region is not better, because memory that a growing table
     * leaves behind stays resident. */
    HEAP_REGION = 12 << 20,
    /* Larger blocks outside the region have their own mapping, which realloc grows without
     * copying.  This is glibc's default; setting it explicitly disables glibc's dynamic
     * adjustment. */
    HEAP_LARGE = 128 << 10,
};

void heap_in_huge_pages(void)
{
    if (!mallopt(M_MMAP_THRESHOLD, HEAP_LARGE) || !mallopt(M_TOP_PAD, HEAP_REGION)) return;
    mallopt(M_TRIM_THRESHOLD, HEAP_REGION); /* freed memory is reused soon */
    uintptr_t begin = ((uintptr_t)sbrk(0) + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    void *first = malloc(HEAP_LARGE - 1024); /* more than the heap has: creates the region */
    __asm__ volatile("" : : "r"(first)); /* prevents the compiler from removing the allocation */
    free(first);
    uintptr_t end = (uintptr_t)sbrk(0);
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    mallopt(M_TOP_PAD, 64 * 1024);
}

/* Returns memory.max of this process's control group (version 2); UINT64_MAX: none, or "max". */
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
