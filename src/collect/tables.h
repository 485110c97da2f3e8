/* collect/tables.h - unwind rules for the code of another process, from the files that it has
 * mapped.
 *
 * Each file is mapped once for all processes; its .eh_frame is read in place (unwind/object.h).  A
 * file may shrink meanwhile: the program must use sys/map_guard.h. */
#pragma once
#include "agent/images.h"
#include "unwind/unwind.h"
#include <sys/stat.h>

typedef struct table_files table_files;

/* Returns NULL when out of memory. */
NODISCARD table_files *table_files_open(void);
void table_files_close(table_files *f);
/* Closes all files.  No result of tables_make or tables_file may be in use. */
void table_files_reset(table_files *f);
/* Returns whether the files take much memory, so that a reset is due. */
bool table_files_full(const table_files *f);

/* Builds the objects of a process from its mappings; `root` is its root directory, such as
 * /proc/PID/root.  Returns NULL when out of memory.  The result is valid while `f` is open; the
 * caller frees it with foreign_close. */
NODISCARD unwind_snapshot *tables_make(table_files *f, const char *root, const images *m);

/* Finds the file of a mapping of process `pid`, opened once.  Returns an empty str when it cannot be
 * read, or when another file has its path now.  `st` gets its identity; all zero for the vdso, whose
 * bytes are those of this process. */
str tables_file(table_files *f, int pid, const char *root, const image *x, struct stat *st);
