/* libnghttp2.a is compiled for programs: it takes the address of stderr, which in a shared object only the
 * loader knows.  The linker (--wrap=stderr) gives it this variable instead. */
#include "base/compiler.h"
#include <stdio.h>

extern FILE *__real_stderr;
extern FILE *__wrap_stderr;
__attribute__((visibility("hidden"))) FILE *__wrap_stderr;

static void __attribute__((constructor(101))) take_stderr(void) { __wrap_stderr = __real_stderr; }
