/* sys/map_guard.h - keeps a program alive when a file that it has mapped shrinks.
 *
 * The kernel sends SIGBUS to a thread that reads a mapped page behind the end of its file, and another
 * program may truncate the file at any time.  The handler puts zeros in the place of the pages that
 * are gone, up to the end of the mapping, and the read goes on.  Code that reads files of others must
 * accept any bytes anyway.
 *
 * A thread that reads mapped files must not block SIGBUS: the kernel then ends the program. */
#pragma once
#include "base/compiler.h"
#include <signal.h>
#include <stddef.h>

/* Installs the handler, which is that of the whole program: call it once, at the start of main().
 * Without this call, the functions below do nothing. */
void map_guard_start(void);

/* Guards a mapping of n bytes that is only read.  Returns false if that is not possible. */
NODISCARD bool map_guard_add(const void *p, size_t n);
/* Call it before the mapping is removed. */
void map_guard_remove(const void *p);

/* Blocks the signals of this thread that other programs may send, for a thread that is started
 * now; the guard still works. */
void map_guard_block_signals(sigset_t *before);
