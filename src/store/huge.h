/* store/huge.h - memory in huge pages, where the kernel has them: tables that are probed all over miss the TLB less. */
#pragma once
#include "base/arena.h"

/* n zero bytes, or NULL; the caller frees them. */
NODISCARD void *huge_zero(size_t n);

/* The next n bytes of the arena come from one block of huge pages.  A hint; pages that are not touched cost nothing. */
void huge_reserve(arena *a, size_t n);
