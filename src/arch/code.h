/* arch/code.h - reads machine code for frames without an unwind rule.  Pure and safe in signal
 * handlers.
 *
 * Hand-written assembler (x264, ffmpeg) pushes registers without an unwind table.  The
 * instructions from pc to the next `ret` show how far the return address is from sp. */
#pragma once
#include "arch/machine.h"
#include "base/compiler.h"

enum {
    CODE_CALL_MAX = 8, /* number of bytes read before a return address */
    ARCH_STUB = 16,    /* size of a stub of .plt */
};

/* How a function leaves its frame, derived from its epilogue. */
typedef struct code_exit {
    bool by_fp;  /* ends with leave, or mov %rbp, %rsp; pop %rbp: an ordinary frame */
    bool reload; /* sp is first loaded from sp + reload_at */
    uint32_t reload_at;
    uint32_t size;      /* distance from sp (after the reload) to the return address */
    uint32_t fp, third; /* n: the register is popped from sp + n - 1; 0: unchanged */
} code_exit;

#if defined(__x86_64__)

static inline uint32_t code_u32(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, 4);
    return v;
}

/* Recognizes stubs of .plt, for which lld writes no rule:  [endbr64] [bnd] jmp *slot(%rip)  and,
 * until the loader has filled the slot, push $n and a jmp to the first stub: push word(%rip); jmp
 * *slot(%rip).  at[-16 .. 16) must be readable.  Returns CFA - sp; 0 when `at` is not in a stub. */
static inline uint32_t arch_stub(const volatile uint8_t *at)
{
    const volatile uint8_t *p = at;
    if (p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa) p += 4;
    if (p[0] == 0x68 && (p[5] == 0xe9 || (p[5] == 0xf2 && p[6] == 0xe9))) return 8;
    if ((p[0] == 0xe9 || (p[0] == 0xf2 && p[1] == 0xe9)) && p[-5] == 0x68) return 16;
    if (p[0] == 0xff && p[1] == 0x35) return 16;
    bool second = p[-6] == 0xff && p[-5] == 0x35;
    if (p[0] == 0xf2) p++;
    return p[0] != 0xff || p[1] != 0x25 ? 0 : second ? 24 : 8;
}

/* Returns the slot from which the stub of .plt at `at` loads its target: [endbr64] [bnd] jmp
 * *slot(%rip).  p[0 .. 16) is its code.  Returns 0 when it is not a stub. */
static inline uintptr_t arch_stub_slot(const uint8_t *p, uintptr_t at)
{
    size_t i = p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa ? 4 : 0;
    if (p[i] == 0xf2) i++;
    if (p[i] != 0xff || p[i + 1] != 0x25) return 0;
    return at + i + 6 + (uintptr_t)(intptr_t)(int32_t)code_u32(p + i + 2);
}

/* Returns whether a call instruction ends at ra; ra[-CODE_CALL_MAX .. 0) must be readable.  Sets
 * *rel to the distance from ra to the target of a direct call, else to 0. */
static inline bool code_is_call(const uint8_t *ra, int32_t *rel)
{
    *rel = 0;
    if (ra[-5] == 0xe8) {
        __builtin_memcpy(rel, ra - 4, 4);
        return true;
    }
    for (int n = 2; n <= 7; n++) { /* ff /2; its operand determines the length */
        uint8_t modrm = ra[1 - n], mod = modrm >> 6, rm = modrm & 7;
        if (ra[-n] != 0xff || (modrm >> 3 & 7) != 2) continue;
        int length = 2 + (mod != 3 && rm == 4) + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
        if (mod == 0 && (rm == 5 || (rm == 4 && (ra[2 - n] & 7) == 5))) length += 4;
        if (length == n) return true;
    }
    return false;
}

/* If the instruction that ends at p moves sp up, updates *x and returns its length, else 0. */
static inline size_t code_sp_move(const uint8_t *p, size_t n, code_exit *x)
{
    uint32_t more = 0;
    size_t length = 0;
    if (n >= 4 && p[-4] == 0x48 && p[-3] == 0x83 && p[-2] == 0xc4 && p[-1] < 0x80)
        more = p[-1], length = 4; /* add $n, %rsp */
    else if (n >= 7 && p[-7] == 0x48 && p[-6] == 0x81 && p[-5] == 0xc4)
        more = code_u32(p - 4), length = 7;
    else if (n >= 5 && p[-5] == 0x48 && p[-4] == 0x8d && p[-3] == 0x64 && p[-2] == 0x24 &&
             p[-1] < 0x80)
        more = p[-1], length = 5; /* lea n(%rsp), %rsp */
    else if (n >= 5 && p[-5] == 0x48 && p[-4] == 0x8b && p[-3] == 0x64 && p[-2] == 0x24 &&
             p[-1] < 0x80)
        x->reload = true, x->reload_at = p[-1], length = 5; /* mov n(%rsp), %rsp */
    else if (n >= 8 && p[-8] == 0x48 && p[-7] == 0x8b && p[-6] == 0xa4 && p[-5] == 0x24)
        x->reload = true, x->reload_at = code_u32(p - 4), length = 8;
    x->size += more;
    if (x->fp) x->fp += more;
    if (x->third) x->third += more;
    return length;
}

/* Sets *x from the epilogue that ends with the ret at code[at]; code[0] is at pc. */
static inline void code_epilogue(const uint8_t *code, size_t at, code_exit *x)
{
    const uint8_t *p = code + at;
    *x = (code_exit){0};
    if (p > code && p[-1] == 0xf3) p--;                                           /* rep ret */
    if (p - code >= 3 && p[-3] == 0xc5 && p[-2] == 0xf8 && p[-1] == 0x77) p -= 3; /* vzeroupper */
    if (p > code && p[-1] == 0xc9) {
        x->by_fp = true;
        return;
    }
    /* Reads pops from the last to the first; the slot of each is below the slots read before. */
    while (p > code && p[-1] >= 0x58 && p[-1] <= 0x5f) {
        bool rex = p - code >= 2 && p[-2] == 0x41;
        uint8_t reg = p[-1];
        p -= rex ? 2 : 1;
        x->size += 8;
        if (x->fp) x->fp += 8;
        if (x->third) x->third += 8;
        if (!rex && reg == 0x5d) x->fp = 1;
        if (!rex && reg == 0x5b) x->third = 1;
        if (!rex && reg == 0x5d && x->size == 8 && p - code >= 3 && p[-3] == 0x48 &&
            ((p[-2] == 0x89 && p[-1] == 0xec) || (p[-2] == 0x8b && p[-1] == 0xe5))) {
            x->by_fp = true; /* mov %rbp, %rsp; pop %rbp */
            return;
        }
    }
    size_t n = code_sp_move(p, (size_t)(p - code), x);
    p -= n; /* Go reloads rbp: mov n(%rsp), %rbp; add $m, %rsp */
    if (n && !x->reload && p - code >= 5 && p[-5] == 0x48 && p[-4] == 0x8b && p[-3] == 0x6c &&
        p[-2] == 0x24 && p[-1] < 0x80)
        x->fp = p[-1] + 1u;
    else if (n && !x->reload && p - code >= 8 && p[-8] == 0x48 && p[-7] == 0x8b && p[-6] == 0xac &&
             p[-5] == 0x24)
        x->fp = code_u32(p - 4) + 1;
}

/* Returns the next position in code[from .. n) that may be a ret; n: none. */
static inline size_t code_next_ret(const uint8_t *code, size_t from, size_t n)
{
    while (from < n && code[from] != 0xc3 && code[from] != 0xc2) from++;
    return from;
}

#elif defined(__aarch64__)

static inline uint32_t arch_stub(const volatile uint8_t *at)
{
    (void)at;
    return 0;
}

static inline uintptr_t arch_stub_slot(const uint8_t *p, uintptr_t at)
{
    (void)p, (void)at;
    return 0;
}

static inline bool code_is_call(const uint8_t *ra, int32_t *rel)
{
    uint32_t v;
    __builtin_memcpy(&v, ra - 4, 4);
    *rel = 0;
    if (v >> 26 == 0x25) *rel = (int32_t)(v << 6) / 16 - 4; /* bl */
    return v >> 26 == 0x25 || (v & 0xfffffc1f) == 0xd63f0000;
}

static inline void code_epilogue(const uint8_t *code, size_t at, code_exit *x)
{
    (void)code, (void)at;
    *x = (code_exit){.by_fp = true};
}

static inline size_t code_next_ret(const uint8_t *code, size_t from, size_t n)
{
    (void)code, (void)from;
    return n;
}

#endif
