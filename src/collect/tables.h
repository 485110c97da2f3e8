/* collect/tables.h - unwind rules for the code of another process, from the files that it has
 * mapped.
 *
 * Each file is mapped once for all processes; its .eh_frame is read in place (unwind/object.h).  Only
 * files without .eh_frame_hdr, such as statically linked programs, are compiled. */
#pragma once
#include "agent/images.h"
#include "unwind/unwind.h"
#include <sys/stat.h>

typedef struct table_files table_files;

/* Returns NULL when out of memory. */
NODISCARD table_files *table_files_open(void);
void table_files_close(table_files *f);

/* Builds the objects of a process from its mappings; `root` is its root directory, such as
 * /proc/PID/root.  Returns NULL when out of memory.  The result is valid while `f` is open; the
 * caller frees it with foreign_close. */
NODISCARD unwind_snapshot *tables_make(table_files *f, const char *root, const images *m);

/* Finds the file of a mapping, opened once.  Returns an empty str when it cannot be read.  `st` gets
 * its identity; all zero for the vdso, whose bytes are those of this process. */
str tables_file(table_files *f, const char *root, str path, struct stat *st);
