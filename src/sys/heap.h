/* sys/heap.h - the heap of a program that lives for milliseconds. */
#pragma once
#include "base/compiler.h"

/* Makes malloc use one region of huge pages.  A command touches every page of its data once, and
 * the first access to a page of 4 KiB costs as much as parsing one or two kilobytes.  For a pprof
 * file of 1.2 MB, these accesses take a third of the time.  Called first in main(), and not by a
 * library, which must not change its host's heap.  Has no effect without huge pages. */
void heap_in_huge_pages(void);

/* Returns the memory available to this process: the machine's, or the limit of its control group if
 * that is lower. */
uint64_t heap_machine_bytes(void);
