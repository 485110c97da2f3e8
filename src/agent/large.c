/* Large blocks of arenas from the kernel.  malloc keeps what a flush freed: in a host with many functions 3.6 MiB
 * of 5.7 that making names had taken, for ever, beside what delivery takes next. */
#include "base/large.h"

#include <sys/mman.h>
#include "base/ban.h"

void *large_new(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *large_resize(void *p, size_t old, size_t n)
{
    void *q = mremap(p, old, n, MREMAP_MAYMOVE);
    return q == MAP_FAILED ? NULL : q;
}

void large_free(void *p, size_t n) { munmap(p, n); }
