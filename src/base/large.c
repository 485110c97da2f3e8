#include "base/large.h"

#include "base/ban.h"

void *large_new(size_t n) { return malloc(n); }

/* On Linux this is mremap: pages move, bytes do not. */
void *large_resize(void *p, size_t old, size_t n)
{
    (void)old;
    return realloc(p, n);
}

void large_free(void *p, size_t n)
{
    (void)n;
    free(p);
}
