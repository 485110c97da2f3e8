/* agent/descriptors.h - a descriptor table that the agent's threads do not share with the program.
 *
 * The threads of a process share one table by default, and a program may rely on every number in
 * it.  It may close 0 to 2 and expect the next open to return 0, call closefrom(3), or dup2 onto an
 * unused number.  With a table of their own, the descriptors of the agent's threads do not
 * interfere with the program, a forked child inherits none of them, and the program cannot close
 * them. */
#pragma once
#include "base/compiler.h"

/* Gives the calling thread, and the threads that it starts, an empty table.  Before Linux 5.9 the
 * table stays shared. */
void descriptors_own(void);

/* Returns whether the calling thread has called descriptors_own with success. */
bool descriptors_mine(void);

/* Returns whether any thread has its own table.  A forked child then has none of the exporter's
 * descriptors, and their numbers may belong to other files. */
bool descriptors_apart(void);

/* Opens the program's current stderr for a thread of the agent.  Returns a descriptor that the
 * caller closes, or -1. */
int descriptors_stderr(void);
