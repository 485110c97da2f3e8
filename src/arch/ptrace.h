/* arch/ptrace.h - the thread pointer of a stopped thread, from its register set. */
#pragma once
#include "arch/machine.h"
#include <elf.h>
#include <stdint.h>
#include <sys/user.h>

/* PTRACE_GETREGSET with ARCH_TP_SET fills arch_tp_regs.  A shorter result means that the thread
 * runs 32-bit code. */
#if defined(__x86_64__)
enum { ARCH_TP_SET = NT_PRSTATUS };
typedef struct user_regs_struct arch_tp_regs;
static inline uint64_t arch_tp_of(const arch_tp_regs *r) { return r->fs_base; }
#elif defined(__aarch64__)
enum { ARCH_TP_SET = NT_ARM_TLS };
typedef uint64_t arch_tp_regs;
static inline uint64_t arch_tp_of(const arch_tp_regs *r) { return *r; }
#endif
