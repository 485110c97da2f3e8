/* unwind/foreign.h - objects of another process, from files mapped here, to unwind copies of its
 * stacks.
 *
 *     map the files in /proc/PID/maps, fill an object_source for each, call object_open()
 *     unwind_snapshot *s = foreign_open(objects, n, &e);
 *     unwind_copy(s, &regs, known, &copy, pcs, max);
 *
 * The walk reads only the bytes of the files and the copy.  Signal handlers must not call these
 * functions. */
#pragma once
#include "base/err.h"
#include "unwind/unwind.h"

/* Copies the objects; their files must stay mapped until foreign_close().  Objects must not
 * overlap.  Returns NULL when out of memory. */
NODISCARD unwind_snapshot *foreign_open(const unwind_object *objects, size_t n, err *e);
void foreign_close(unwind_snapshot *s);
