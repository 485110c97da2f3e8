/* collect/copied.h - unwinds the copied stacks of a recording from the files of this machine: the
 * implementation of format/stack_walk.h.
 *
 * A file is used only if it is the recorded build (symbol/find.h); a recording without a build id is
 * trusted by name.  Each file is mapped once, at most COPIED_FILES of them.  The rules of the
 * COPIED_SPACES address spaces that were used last stay in memory. */
#pragma once
#include "format/stack_walk.h"

enum { COPIED_FILES = 1024, COPIED_SPACES = 16 };

typedef struct copied_walk copied_walk;

/* Opens a walk for one input.  Returns NULL when out of memory; the input is then read without. */
copied_walk *copied_open(void);
/* Closes a walk; NULL is allowed. */
void copied_close(copied_walk *w);

/* Returns the callbacks for read_opts.walk; NULL for NULL. */
const stack_walk *copied_callbacks(const copied_walk *w);
