/* collect/tables.h - unwind rules of another process's code, from the files that it has mapped.
 *
 * A file is mapped once, however many processes use it; its .eh_frame is read in place (unwind/object.h). */
#pragma once
#include "agent/images.h"
#include "unwind/unwind.h"

typedef struct table_files table_files;

/* NULL: no memory. */
NODISCARD table_files *table_files_open(void);
void table_files_close(table_files *f);

/* The objects of process `pid` by its mappings.  NULL: no memory.  Valid while `f` is open; free with foreign_close. */
NODISCARD unwind_snapshot *tables_make(table_files *f, uint32_t pid, const images *m);
