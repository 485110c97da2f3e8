/* A replacement for stderr in libnghttp2.a.  The archive is compiled for programs and takes the
 * address of stderr, which only the loader knows in a shared object.  The linker (--wrap=stderr)
 * uses this variable instead. */
#include "base/compiler.h"
#include <stdio.h>

extern FILE *__real_stderr;
extern FILE *__wrap_stderr;
__attribute__((visibility("hidden"))) FILE *__wrap_stderr;

static void __attribute__((constructor(101))) take_stderr(void) { __wrap_stderr = __real_stderr; }
