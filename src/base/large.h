/* base/large.h - allocates the large blocks of arenas: with malloc (large.c), unless a program
 * links its own three functions. The agent does (agent/large.c), because memory that it frees must
 * return to the kernel, and malloc would keep it in the host's heap. */
#pragma once
#include "base/compiler.h"

/* Return NULL without memory. `old`, and `n` of large_free, are the allocated size of the block. */
NODISCARD void *large_new(size_t n);
NODISCARD void *large_resize(void *p, size_t old, size_t n);
void large_free(void *p, size_t n);
