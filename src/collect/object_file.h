/* collect/object_file.h - an object of another process as the unwinder sees it, from the bytes of its
 * file. */
#pragma once
#include "base/str.h"
#include "unwind/object.h"

/* Fills *o from an ELF file whose byte `offset` the process has mapped at `start`, executable.
 * Returns false if the bytes are not a 64-bit ELF file with code at that offset.  They must stay
 * readable as long as the object is used. */
NODISCARD bool object_of_file(str bytes, uint64_t start, uint64_t offset, unwind_object *o);

/* Sets *bias to the run-time address - p_vaddr of that file.  Returns false like object_of_file. */
NODISCARD bool object_bias(str bytes, uint64_t start, uint64_t offset, uint64_t *bias);

/* Finds .eh_frame in a file without .eh_frame_hdr, as linkers write statically linked programs, by
 * its section headers.  out->at is its address in the program headers.  Returns false if there is a
 * .eh_frame_hdr, or no .eh_frame. */
NODISCARD bool object_bare_frames(str bytes, unwind_bytes *out);

/* Adds Go's table of functions to an object of the same bytes and place, if it has one. */
void object_add_go(str bytes, uint64_t start, uint64_t offset, unwind_object *o);

/* Returns the vdso of this process: the kernel maps the same one into every 64-bit process.  Empty:
 * there is none. */
str object_vdso(void);
