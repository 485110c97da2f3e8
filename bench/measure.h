/* measure.h - clocks, memory and allocation counts: how one run is measured. */
#pragma once
#include "contest.h"

typedef struct alloc_count {
    uint64_t mallocs; /* malloc, calloc, realloc, memalign; operator new ends here too */
    uint64_t maps;    /* mmap and mremap called by name (malloc's own are inside glibc) */
} alloc_count;

alloc_count alloc_counted(void); /* since the start of the process; one thread */

/* Peak memory of what runs between the two calls: bytes resident at most beyond those at the mark. */
size_t memory_mark(void);
size_t memory_peak(size_t mark);

double cpu_seconds(void); /* CPU time of this thread: other programs do not count */
double wall_seconds(void);

/* One decode in a process of its own: what a short-lived program sees. */
typedef struct fresh {
    bool ok;
    double first_ms;    /* CPU time of open and decode, page faults included */
    size_t peak;        /* bytes resident at most for the decode, the message apart */
    size_t peak_all;    /* and with the message */
    alloc_count allocs; /* of open and decode */
} fresh;

/* Starts this program again as `--fresh name path`; the child calls fresh_child(). */
fresh fresh_run(const contestant *c, const char *path);
int fresh_child(const contestant *c, const char *path);

/* Reads a file into page-aligned memory with MATERIAL_PADDING zeros behind it; kind by its suffix. */
bool material_load(const char *path, material *out);
void material_free(material *p);
