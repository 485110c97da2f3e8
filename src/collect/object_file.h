/* collect/object_file.h - an object of another process as the unwinder sees it, from the bytes of its
 * file. */
#pragma once
#include "base/arena.h"
#include "base/str.h"
#include "unwind/object.h"

/* Fills *o from an ELF file whose byte `offset` the process has mapped at `start`, executable.
 * Returns false if the bytes are not a 64-bit ELF file with code at that offset.  They must stay
 * readable as long as the object is used. */
NODISCARD bool object_of_file(str bytes, uint64_t start, uint64_t offset, unwind_object *o);

/* Sets *bias to the run-time address - p_vaddr of that file.  Returns false like object_of_file. */
NODISCARD bool object_bias(str bytes, uint64_t start, uint64_t offset, uint64_t *bias);

/* Adds Go's table of functions to an object of the same bytes and place, if it has one. */
void object_add_go(str bytes, uint64_t start, uint64_t offset, unwind_object *o);

/* Returns whether the file has Go's table of functions, which has the rules of Go's code. */
bool object_has_go(str bytes);

/* Finds .eh_frame by the section headers, for a file whose program headers do not lead to it:
 * statically linked programs have no .eh_frame_hdr.  Sets *address to its address in the file.
 * Returns an empty str when there is none. */
str object_eh_frame(str bytes, uint64_t *address);

/* Compiles the rules of an object without .eh_frame_hdr into `a`.  Leaves the object as it is if it
 * has one, or has no rules. */
void object_add_rules(str bytes, uint64_t start, uint64_t offset, arena *a, unwind_object *o);

/* Returns the vdso of this process: the kernel maps the same one into every 64-bit process.  Empty:
 * there is none. */
str object_vdso(void);
