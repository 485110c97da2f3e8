/* arch/machine.h - the processor architecture of this build.
 *
 * Only the rooms arch, wire and base may test for an architecture (tools/check-includes).  The
 * others use the definitions of arch. */
#pragma once

#if defined(__x86_64__)
enum { ARCH_MACHINE = 62 }; /* e_machine of ELF files for it */
#define ARCH_NAME "x86-64"
#elif defined(__aarch64__)
enum { ARCH_MACHINE = 183 };
#define ARCH_NAME "aarch64"
#else
#error "unsupported processor: add its registers, system calls and thread-local storage to src/arch"
#endif
