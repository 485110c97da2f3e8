/* collect/tables.h - unwind rules for the code of another process, from the files that it has
 * mapped.
 *
 * Each file is mapped once for all processes; its .eh_frame is read in place (unwind/object.h). */
#pragma once
#include "agent/images.h"
#include "unwind/unwind.h"

typedef struct table_files table_files;

/* Returns NULL when out of memory. */
NODISCARD table_files *table_files_open(void);
void table_files_close(table_files *f);

/* Builds the objects of process `pid` from its mappings.  Returns NULL when out of memory.  The
 * result is valid while `f` is open; the caller frees it with foreign_close. */
NODISCARD unwind_snapshot *tables_make(table_files *f, uint32_t pid, const images *m);

/* Returns the vdso of this process: the kernel maps the same one into every process. */
str tables_vdso(void);

/* Sets *bias to the distance between the image's addresses and those in the program headers of its
 * file.  Returns false if no executable segment contains the image. */
NODISCARD bool tables_bias(str elf, const image *x, uint64_t *bias);
