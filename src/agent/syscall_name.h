/* agent/syscall_name.h - names of system calls.  tools/syscalls generates the table from the
 * kernel's headers.  Pure. */
#pragma once
#include "base/compiler.h"

/* Returns the name of a system call of this processor ("futex"), or "unknown". */
const char *syscall_name(uint32_t number);
