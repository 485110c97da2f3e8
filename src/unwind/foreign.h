/* unwind/foreign.h - objects of another process, from files mapped here, to unwind copies of its stacks.
 *
 *     map the files that /proc/PID/maps names, fill an object_source each (file, n_file, bias), object_open()
 *     unwind_snapshot *s = foreign_open(objects, n, &e);
 *     unwind_copy(s, &regs, known, &copy, pcs, max);
 *
 * Nothing of this process is read but the files' bytes and the copy.  Not for handlers. */
#pragma once
#include "base/err.h"
#include "unwind/unwind.h"

/* Copies the objects; their files must stay mapped until foreign_close().  Objects may not overlap.  NULL: no memory. */
NODISCARD unwind_snapshot *foreign_open(const unwind_object *objects, size_t n, err *e);
void foreign_close(unwind_snapshot *s);
