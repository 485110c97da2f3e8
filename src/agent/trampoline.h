/* agent/trampoline.h - counts calls of the program's signal handlers, transparently to the program.
 *
 * While the capture runs, the interposed sigaction and related functions install a stub instead of
 * the program's handler.  The stub counts (agent/signal/delivered.h) and jumps to the handler with
 * the same arguments, stack and return address.  Flags and mask are the program's.  A stub belongs
 * to one handler address as long as the process lives.  So the handler cannot be replaced between
 * the count and the jump, and a stub that a program reads with a direct system call and calls later
 * still reaches the right handler.
 *
 * There are TRAMPOLINES stubs; further handlers are installed without a stub. */
#pragma once
#include "base/compiler.h"
#include <signal.h>

enum { TRAMPOLINES = 128 };

typedef void (*trampoline_handler)(int, siginfo_t *, void *);

/* Returns the stub of a handler.  Returns h itself while the capture is off, for SIG_DFL and
 * SIG_IGN, for the agent's handler, and when all stubs are in use.  Async-signal-safe, as sigaction
 * is. */
trampoline_handler trampoline_of(trampoline_handler h);

/* Returns the handler of a stub, and any other value unchanged. */
trampoline_handler trampoline_behind(trampoline_handler stub);

/* Called before the first signal of the capture: installs stubs for existing handlers, and enables
 * them for later ones. */
void trampoline_start(void);

/* Returns whether the kernel's table contains a handler of the program without a stub, which was
 * installed by a direct system call or when all stubs were in use.  Makes 64 system calls;
 * preserves errno. */
bool trampoline_bypassed(void);
