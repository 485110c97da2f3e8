/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/code.bpf.h - reads machine code for frames without a rule, as arch/code.h does.  The functions
 * are global and keep their state in the scratch memory, for the verifier. */
#pragma once
#include "bpf/step.bpf.h"

/* Returns whether a call instruction ends at ra: 1, 0, or -1 when the code is not readable. */
__attribute__((noinline)) int follows_call(uint64_t ra)
{
    uint64_t v;
    if (bpf_probe_read_user(&v, 8, (const void *)(ra - CALL_BYTES))) return -1;
    if ((v >> 24 & 0xff) == 0xe8) return 1;
#pragma unroll
    for (int n = 2; n <= 7; n++) { /* ff /2; its operand determines the length */
        uint32_t three = (uint32_t)(v >> 8 * (8 - n)); /* the first bytes of the instruction */
        uint32_t modrm = three >> 8 & 0xff, mod = modrm >> 6, rm = modrm & 7;
        if ((three & 0xff) != 0xff || (modrm >> 3 & 7) != 2) continue;
        int length = 2 + (mod != 3 && rm == 4) + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
        if (mod == 0 && (rm == 5 || (rm == 4 && (three >> 16 & 7) == 5))) length += 4;
        if (length == n) return 1;
    }
    return 0;
}

/* Reads the code around pc into s->code: CODE_BEFORE bytes before it, and up to CODE_AHEAD from it
 * on.  Returns the number of bytes from pc on; 0: not readable. */
INLINE uint32_t read_code(struct scratch *s, uint64_t pc)
{
    uint64_t from = pc - CODE_BEFORE, left = BPF_PAGE - from % BPF_PAGE;
    if (!bpf_probe_read_user(s->code, sizeof s->code, (const void *)from)) return CODE_AHEAD;
    if (left >= sizeof s->code || left < 2 * CODE_BEFORE ||
        bpf_probe_read_user(s->code, (uint32_t)left, (const void *)from))
        return 0;
    return (uint32_t)left - CODE_BEFORE;
}

/* The compiler must not derive the bound from earlier comparisons, which the verifier cannot. */
INLINE uint32_t code_at(struct scratch *s, uint32_t i)
{
    asm volatile("" : "+r"(i));
    return s->code[i % sizeof s->code];
}

INLINE uint32_t code_u32(struct scratch *s, uint32_t i)
{
    return code_at(s, i) | code_at(s, i + 1) << 8 | code_at(s, i + 2) << 16 |
           code_at(s, i + 3) << 24;
}

/* Returns CFA - sp when pc is in a stub of .plt; 0: it is not (arch_stub). */
INLINE uint32_t code_stub(struct scratch *s)
{
    uint32_t p = CODE_BEFORE;
    if (code_u32(s, p) == 0xfa1e0ff3) p += 4;
    uint32_t a = code_at(s, p), b = code_at(s, p + 1);
    if (a == 0x68 &&
        (code_at(s, p + 5) == 0xe9 || (code_at(s, p + 5) == 0xf2 && code_at(s, p + 6) == 0xe9)))
        return 8;
    if ((a == 0xe9 || (a == 0xf2 && b == 0xe9)) && code_at(s, p - 5) == 0x68) return 16;
    if (a == 0xff && b == 0x35) return 16;
    bool second = code_at(s, p - 6) == 0xff && code_at(s, p - 5) == 0x35;
    if (a == 0xf2) p++;
    return code_at(s, p) != 0xff || code_at(s, p + 1) != 0x25 ? 0 : second ? 24 : 8;
}

/* If the instruction that ends at p moves sp up, updates s->exit and returns its length, else 0. */
INLINE uint32_t code_sp_move(struct scratch *s, uint32_t p)
{
    struct code_exit *x = &s->exit;
    uint32_t n = p - CODE_BEFORE, more = 0, length = 0, last = code_at(s, p - 1);
    if (n >= 4 && last < 0x80 && (code_u32(s, p - 4) & 0xffffff) == 0xc48348) {
        more = last, length = 4; /* add $n, %rsp */
    } else if (n >= 7 && (code_u32(s, p - 7) & 0xffffff) == 0xc48148) {
        more = code_u32(s, p - 4), length = 7;
    } else if (n >= 5 && last < 0x80 && code_u32(s, p - 5) == 0x24648d48) {
        more = last, length = 5; /* lea n(%rsp), %rsp */
    } else if (n >= 5 && last < 0x80 && code_u32(s, p - 5) == 0x24648b48) {
        x->reload = 1, x->reload_at = last, length = 5; /* mov n(%rsp), %rsp */
    } else if (n >= 8 && code_u32(s, p - 8) == 0x24a48b48) {
        x->reload = 1, x->reload_at = code_u32(s, p - 4), length = 8;
    }
    x->size += more;
    if (x->fp) x->fp += more;
    if (x->third) x->third += more;
    return length;
}

/* Reads the pop that ends at s->exit.end.  Returns 0 when there is none.  A function, because the
 * verifier would follow every combination of pops. */
__attribute__((noinline)) int read_pop(struct scratch *s)
{
    if (!s) return 0;
    struct code_exit *x = &s->exit;
    uint32_t p = x->end, reg = code_at(s, p - 1);
    if (p <= CODE_BEFORE || (reg & 0xf8) != 0x58) return 0;
    bool rex = p >= CODE_BEFORE + 2 && code_at(s, p - 2) == 0x41;
    p -= rex ? 2 : 1;
    x->end = p;
    x->size += 8;
    if (x->fp) x->fp += 8;
    if (x->third) x->third += 8;
    if (rex) return 1;
    if (reg == 0x5b) x->third = 1;
    if (reg != 0x5d) return 1;
    x->fp = 1;
    uint32_t move = code_u32(s, p - 3) & 0xffffff; /* mov %rbp, %rsp */
    x->by_fp = x->size == 8 && p >= CODE_BEFORE + 3 && (move == 0xec8948 || move == 0xe58b48);
    return !x->by_fp;
}

/* Sets s->exit from the epilogue that ends with the ret at s->code[p] (code_epilogue). */
__attribute__((noinline)) int read_epilogue(struct scratch *s, uint32_t p)
{
    if (!s || p < CODE_BEFORE || p >= sizeof s->code) return 0;
    struct code_exit *x = &s->exit;
    __builtin_memset(x, 0, sizeof *x);
    if (p > CODE_BEFORE && code_at(s, p - 1) == 0xf3) p--; /* rep ret */
    if (p >= CODE_BEFORE + 3 && (code_u32(s, p - 3) & 0xffffff) == 0x77f8c5)
        p -= 3; /* vzeroupper */
    x->by_fp = p > CODE_BEFORE && code_at(s, p - 1) == 0xc9;
    x->end = p;
    for (int i = 0; i < 16 && !x->by_fp; i++) /* from the last to the first */
        if (!read_pop(s)) break;
    if (x->by_fp) return 0;
    uint32_t n = code_sp_move(s, x->end);
    p = x->end - n; /* Go reloads rbp: mov n(%rsp), %rbp; add $m, %rsp */
    if (!n || x->reload) return 0;
    if (p >= CODE_BEFORE + 5 && code_u32(s, p - 5) == 0x246c8b48 && code_at(s, p - 1) < 0x80)
        x->fp = code_at(s, p - 1) + 1;
    else if (p >= CODE_BEFORE + 8 && code_u32(s, p - 8) == 0x24ac8b48)
        x->fp = code_u32(s, p - 4) + 1;
    return 0;
}

/* Returns the first position in s->code[from .. end) that may be a ret; `end`: none. */
__attribute__((noinline)) uint32_t find_ret(struct scratch *s, uint32_t from, uint32_t end)
{
    if (!s) return end;
    for (uint32_t i = 0; i < CODE_AHEAD; i++) {
        if (from + i >= end) break;
        if ((code_at(s, from + i) & 0xfe) == 0xc2) return from + i;
    }
    return end;
}
