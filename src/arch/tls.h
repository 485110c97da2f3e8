/* arch/tls.h - thread-local storage: the thread pointer, the table of a thread's blocks,
 * relocations.  Safe in signal handlers. */
#pragma once
#include "arch/machine.h"
#include "base/compiler.h"
#include <elf.h>

#if defined(__x86_64__)

enum {
    ARCH_DTV = 8, /* offset from the thread pointer of the pointer to the table of TLS blocks */
    ARCH_TP_IS_PTHREAD = 1, /* glibc and musl: pthread_self() is the thread pointer */
    ARCH_TLS_OF_OTHERS = 1, /* ctx/tls.c reads thread-local variables of other processes */
    ARCH_R_TLSDESC = R_X86_64_TLSDESC,
    ARCH_R_TLS_MODULE = R_X86_64_DTPMOD64,
    ARCH_R_TLS_OFFSET = R_X86_64_TPOFF64,
};

/* Defines `void **name(void)`, which returns the address of the calling thread's `variable`, a
 * void *, through a TLS descriptor.  clang 14 has no option for descriptors on x86-64, hence the
 * assembler; on aarch64 they are the default. */
#define ARCH_TLSDESC_ADDRESS(name, variable)                                                       \
    void **name(void) __attribute__((visibility("hidden")));                                       \
    __asm__(".pushsection .text\n"                                                                 \
            ".globl " #name "\n"                                                                   \
            ".hidden " #name "\n"                                                                  \
            ".type " #name ", @function\n" #name ":\n"                                             \
            "    .cfi_startproc\n"                                                                 \
            "    subq $8, %rsp\n"                                                                  \
            "    .cfi_adjust_cfa_offset 8\n"                                                       \
            "    leaq " #variable "@TLSDESC(%rip), %rax\n"                                         \
            "    call *" #variable "@TLSCALL(%rax)\n"                                              \
            "    addq %fs:0, %rax\n"                                                               \
            "    addq $8, %rsp\n"                                                                  \
            "    .cfi_adjust_cfa_offset -8\n"                                                      \
            "    ret\n"                                                                            \
            "    .cfi_endproc\n"                                                                   \
            ".size " #name ", . - " #name "\n"                                                     \
            ".popsection\n")

#elif defined(__aarch64__)

enum {
    ARCH_DTV = 0,
    ARCH_TP_IS_PTHREAD = 0,
    ARCH_TLS_OF_OTHERS = 0,
    ARCH_R_TLSDESC = R_AARCH64_TLSDESC,
    ARCH_R_TLS_MODULE = R_AARCH64_TLS_DTPMOD,
    ARCH_R_TLS_OFFSET = R_AARCH64_TLS_TPREL,
};

#define ARCH_TLSDESC_ADDRESS(name, variable)                                                       \
    static void **name(void) { return &(variable); }                                               \
    _Static_assert(1, "takes the semicolon")

#endif

static inline uintptr_t arch_thread_pointer(void) { return (uintptr_t)__builtin_thread_pointer(); }

/* Returns pthread_self() without a call; 0: not known on this processor. */
static inline uint64_t arch_pthread(void) { return ARCH_TP_IS_PTHREAD ? arch_thread_pointer() : 0; }
