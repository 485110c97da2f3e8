/* agent/descriptors.h - a table of descriptors that the agent's threads do not share with the program.
 *
 * Threads of a process share one by default, and a program may do with all numbers in it as it likes: close
 * 0 to 2 and expect the next open to be 0, closefrom(3), dup2 onto a number that it has not given to anybody.
 * In a table of their own, what the agent's threads open is in nobody's way, a forked child inherits nothing
 * of it, and nothing that the program closes is ours. */
#pragma once
#include "base/compiler.h"

/* Gives the calling thread, and those that it starts, an empty table.  Linux 5.9; otherwise all stays shared. */
void descriptors_own(void);

/* Is the calling thread's table one that it took by descriptors_own? */
bool descriptors_mine(void);

/* Are there such tables?  Then a forked child has none of what the exporter opened, and other files under the same
 * numbers. */
bool descriptors_apart(void);

/* The program's stderr, as it is now, for one of the agent's threads: a descriptor for close; -1: none, or
 * not to be had. */
int descriptors_stderr(void);
