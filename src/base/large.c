/* Large blocks from malloc.  A file of its own so that the agent can replace it at link time. */
#include "base/large.h"

#include "base/ban.h"

void *large_new(size_t n) { return malloc(n); }

/* On Linux realloc uses mremap here: it moves pages instead of copying bytes. */
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
