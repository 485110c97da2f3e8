/* store/huge.h - memory in huge pages, where the kernel offers them: tables with random access
 * cause fewer TLB misses. */
#pragma once
#include "base/arena.h"

/* Returns n zero bytes, which the caller frees, or NULL. */
NODISCARD void *huge_zero(size_t n);

/* Requests huge pages for the next n bytes of the arena. This is only a hint; untouched pages cost
 * nothing. */
void huge_reserve(arena *a, size_t n);
