/* sys/heap.h - the heap of a program that lives for milliseconds. */
#pragma once
#include "base/compiler.h"

/* Lets malloc take its memory from one region of huge pages.  A command touches every page of its data
 * once, and the first touch of a 4 KiB page costs as much as parsing a kilobyte or two: on a pprof file
 * of 1.2 MB a third of all time.  Called first in main(), by the program only: a library leaves the heap
 * to its host.  Where there are no huge pages nothing changes. */
void heap_in_huge_pages(void);

/* Memory that this process could use: the machine's, or the limit of its control group when that is lower. */
uint64_t heap_machine_bytes(void);
