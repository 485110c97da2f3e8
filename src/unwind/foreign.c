/* Builds a snapshot of another process's objects, which never changes.  Unlike the registry's
 * snapshots it is one block of malloc, because no signal handler reads it. */
#include "unwind/foreign.h"

#include "base/ban.h"

static int by_address(const void *x, const void *y)
{
    const unwind_object *a = *(unwind_object *const *)x, *b = *(unwind_object *const *)y;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

/* Allocates one block for the snapshot, its pointers and the objects. */
unwind_snapshot *foreign_open(const unwind_object *objects, size_t n, err *e)
{
    size_t head = sizeof(unwind_snapshot) + n * sizeof(unwind_object *), bytes;
    unwind_snapshot *s = NULL;
    head = (head + 15) & ~(size_t)15;
    if (n <= UINT32_MAX && !ckd_mul(&bytes, n, sizeof *objects) && !ckd_add(&bytes, bytes, head))
        s = calloc(1, bytes);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory for a snapshot of %zu objects", n);
        return NULL;
    }
    unwind_object *copies = (unwind_object *)(void *)((char *)s + head);
    for (size_t i = 0; i < n; i++) {
        memcpy(&copies[i], &objects[i], sizeof *objects);
        copies[i].unloadable = false;
        s->objects[i] = &copies[i];
    }
    qsort(s->objects, n, sizeof(unwind_object *), by_address);
    s->n_objects = (uint32_t)n;
    s->bytes = bytes;
    s->foreign = true;
    return s;
}

void foreign_close(unwind_snapshot *s) { free(s); }
