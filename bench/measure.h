/* measure.h - clocks, memory and allocation counts of one run. */
#pragma once
#include "contest.h"

typedef struct alloc_count {
    uint64_t mallocs; /* malloc, calloc, realloc, memalign; operator new calls malloc */
    uint64_t maps;    /* mmap and mremap, without those that malloc makes inside glibc */
} alloc_count;

alloc_count alloc_counted(void); /* counts since the start of the process; not thread-safe */

/* Peak memory between the two calls, in bytes resident beyond those at the mark. */
size_t memory_mark(void);
size_t memory_peak(size_t mark);

double cpu_seconds(void); /* CPU time of this thread */
double wall_seconds(void);

/* One decode in a separate process, as in a short-lived program. */
typedef struct fresh {
    bool ok;
    double first_ms;    /* CPU time of open and decode, page faults included */
    size_t peak;        /* peak of resident bytes for the decode, without the message */
    size_t peak_all;    /* the same, with the message */
    alloc_count allocs; /* of open and decode */
} fresh;

/* Starts this program again as `--fresh name path`; the child calls fresh_child(). */
fresh fresh_run(const contestant *c, const char *path);
int fresh_child(const contestant *c, const char *path);

/* Reads a file into page-aligned memory, followed by MATERIAL_PADDING zeros; the suffix gives the
 * kind. */
bool material_load(const char *path, material *out);
void material_free(material *p);
