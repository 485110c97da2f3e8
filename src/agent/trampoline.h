/* agent/trampoline.h - counts the calls of the program's signal handlers, invisibly.
 *
 * While the capture runs, interposed calls of sigaction and its like install a stub in place of the program's
 * handler.  The stub counts (agent/signal/delivered.h) and jumps to the handler: same arguments, same stack,
 * same return address.  Flags and mask stay the program's.  A stub belongs to one handler address for the life
 * of the process, so nothing changes between the count and the jump, and a stub that a program reads by a
 * system call of its own and calls later still reaches the right handler.
 *
 * There are TRAMPOLINES stubs; a program with more handlers has the rest installed as they are. */
#pragma once
#include "base/compiler.h"
#include <signal.h>

enum { TRAMPOLINES = 128 };

typedef void (*trampoline_handler)(int, siginfo_t *, void *);

/* The stub of a handler.  The handler itself while the capture is off, for SIG_DFL and SIG_IGN, for the
 * capture's own handler, and when all stubs are taken.  Async-signal-safe, as sigaction is. */
trampoline_handler trampoline_of(trampoline_handler h);

/* The handler of a stub; anything else is returned as it is. */
trampoline_handler trampoline_behind(trampoline_handler stub);

/* Before the capture's first signal: handlers that are installed get their stubs, and later ones too. */
void trampoline_start(void);

/* Reports whether the kernel's table holds a handler of the program without a stub: installed by a system
 * call of the program's own, or one too many.  64 system calls; leaves errno alone. */
bool trampoline_bypassed(void);
