/* arch/perf.h - the user registers in samples of perf events: which ones to request, and their
 * places in a ucontext_t. */
#pragma once
#include "arch/context.h"

#if defined(__x86_64__)
#include <asm/perf_regs.h>

/* The general registers, ip included.  The kernel stores them in the order of their bits. */
#define ARCH_PERF_REGS                                                                             \
    (((UINT64_C(1) << (PERF_REG_X86_IP + 1)) - 1) | UINT64_C(0xff) << PERF_REG_X86_R8)
enum { ARCH_PERF_N_REGS = 17 };

/* Returns the offset in ucontext_t of the register at position i of a sample. */
static inline size_t arch_perf_context(unsigned i)
{
    static const uint8_t greg[ARCH_PERF_N_REGS] = {
        REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_RIP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return CONTEXT_FIRST + 8u * greg[i];
}

#elif defined(__aarch64__)
#include <asm/perf_regs.h>

#define ARCH_PERF_REGS ((UINT64_C(1) << PERF_REG_ARM64_MAX) - 1)
enum { ARCH_PERF_N_REGS = PERF_REG_ARM64_MAX };

static inline size_t arch_perf_context(unsigned i)
{
    return i < 31 ? CONTEXT_FIRST + 8u * i : i == 31 ? CONTEXT_SP : CONTEXT_PC;
}

#endif
