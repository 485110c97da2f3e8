/* base/large.h - where arenas get their large blocks: from malloc (large.c), unless a program brings its own three
 * functions.  The agent does (agent/large.c): what it frees in somebody else's process must go back to the kernel,
 * and malloc keeps it. */
#pragma once
#include "base/compiler.h"

/* NULL: no memory.  Sizes are those that the block was made with. */
NODISCARD void *large_new(size_t n);
NODISCARD void *large_resize(void *p, size_t old, size_t n);
void large_free(void *p, size_t n);
