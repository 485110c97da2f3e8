/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/step.bpf.h - leaves a frame by its rule, as unwind/unwind.c and unusual.c do.
 *
 * A read of user memory costs as much as ten frames, so the walk reads the stack in windows. */
#pragma once
#include "bpf/rules.bpf.h"

enum { USER_CS = 0x33, RED_ZONE = 128, CALL_BYTES = 8, GREGS = 40 };

/* Ends the walk.  Both return 1. */
INLINE int stop(struct walk *w, uint8_t end)
{
    w->end = end;
    return 1;
}

/* Leaves the current frame to user space, which starts with it. */
INLINE int hand_over(struct walk *w, uint8_t why)
{
    w->hand = why;
    w->end = BPF_END_NO_RULE;
    w->n--;
    return 1;
}

/* ---- words of the stack ---- */

/* Reads a window that begins at `at`: 2 KiB, else up to the end of the page, else the n bytes that
 * are needed.  Returns the bytes read, at least n; 0: not readable. */
static __attribute__((noinline)) uint64_t refill(struct scratch *s, uint64_t at, uint64_t n)
{
    uint64_t left = BPF_PAGE - at % BPF_PAGE;
    if (!s) return 0;
    if (!bpf_probe_read_user(s->window, sizeof s->window, (const void *)at))
        return sizeof s->window;
    if (left >= n && left < sizeof s->window &&
        !bpf_probe_read_user(s->window, (uint32_t)left, (const void *)at))
        return left;
    if (n > sizeof s->window || bpf_probe_read_user(s->window, (uint32_t)n, (const void *)at))
        return 0;
    return n;
}

/* Makes [at, at + n) readable by word_in(). */
INLINE bool reach(struct scratch *s, uint64_t at, uint64_t n)
{
    struct walk *w = &s->w;
    if (at >= w->lo && at - w->lo + n <= w->bytes) return true;
    if (at % 8 || at >> 47) return false;
    w->lo = at;
    w->bytes = refill(s, at, n);
    w->n_windows++;
    return w->bytes != 0;
}

INLINE uint64_t word_in(struct scratch *s, uint64_t at)
{
    struct walk *w = &s->w;
    return s->window[(at - w->lo) / 8 % WINDOW_WORDS];
}

/* Reads one word that may be outside of the window, without moving it. */
INLINE bool fetch(struct scratch *s, uint64_t at, uint64_t *v)
{
    struct walk *w = &s->w;
    if (at % 8) return false;
    if (at >= w->lo && at - w->lo + 8 <= w->bytes) {
        *v = word_in(s, at);
        return true;
    }
    w->n_windows++;
    return !bpf_probe_read_user(v, 8, (const void *)at);
}

/* ---- rules ---- */

INLINE bool in_range(struct scratch *s, uint64_t pc)
{
    struct walk *w = &s->w;
    if (pc >= w->range_start && pc < w->range_end) return true;
    uint32_t at = find_range(w->first, w->n_ranges, pc);
    if (!at) return false;
    at--;
    struct bpf_range *r = bpf_map_lookup_elem(&ranges, &at);
    if (!r) return false;
    w->range_start = r->start;
    w->range_end = r->end;
    w->range_bias = r->bias;
    w->range_table = r->table;
    return true;
}

static __attribute__((noinline)) uint32_t look_up(struct scratch *s, uint64_t pc)
{
    struct walk *w = &s->w;
    w->n_looked_up++;
    if (!in_range(s, pc)) return FOUND_OUTSIDE;
    if (w->range_table == BPF_TABLE_NONE) return FOUND_ABSENT;
    return find_rule(w->range_table, pc - w->range_bias);
}

INLINE uint32_t rule_of(struct scratch *s, uint64_t pc)
{
    struct walk *w = &s->w;
    struct rule_slot *c = &s->cache[(pc ^ pc >> 11) % CACHE_SLOTS];
    if (c->pc == pc && c->serial == w->serial) return c->found;
    uint32_t found = look_up(s, pc);
    /* A wide rule needs its table, which the slot does not name. */
    if (!(found & FOUND_ABSENT) && rule_kind(found) != RULE_WIDE) {
        c->pc = pc;
        c->serial = w->serial;
        c->found = found;
    }
    return found;
}

/* ---- steps ---- */

INLINE int arrive(struct scratch *s, uint64_t ra, uint64_t cfa, uint64_t fp, uint64_t bx)
{
    struct walk *w = &s->w;
    if (!ra) return stop(w, BPF_END_WHOLE);
    w->pc = ra;
    w->sp = cfa;
    w->fp = fp;
    w->bx = bx;
    w->exact = w->guess = 0;
    w->context = 0;
    return 0;
}

INLINE int step_cfa(struct scratch *s, uint64_t cfa, uint32_t fp_k, uint32_t bx_k)
{
    struct walk *w = &s->w;
    uint32_t k = fp_k > bx_k ? fp_k : bx_k;
    if (!k) k = 1;
    if (cfa % 8 || cfa < w->sp + 8) return stop(w, BPF_END_NO_PROGRESS);
    if (!reach(s, cfa - 8 * (uint64_t)k, 8 * (uint64_t)k)) return stop(w, BPF_END_UNREADABLE);
    uint64_t fp = fp_k ? word_in(s, cfa - 8 * (uint64_t)fp_k) : w->fp;
    uint64_t bx = bx_k ? word_in(s, cfa - 8 * (uint64_t)bx_k) : w->bx;
    return arrive(s, word_in(s, cfa - 8), cfa, fp, bx);
}

/* Sets *v to a register by its DWARF number.  All are known in the first frame and in one that a
 * signal interrupted. */
INLINE bool register_value(struct scratch *s, uint32_t reg, uint64_t *v)
{
    const uint64_t greg = 0x76543210fa89becd; /* position in gregs, a digit for each number */
    struct walk *w = &s->w;
    if (reg == 7) return *v = w->sp, true;
    if (reg == 6) return *v = w->fp, true;
    if (reg == 3) return *v = w->bx, true;
    if (reg > 15 || !w->exact) return false;
    if (w->context) return fetch(s, w->context + 8 * (greg >> 4 * reg & 15), v);
    *v = s->head.regs.gpr[reg & 15];
    return true;
}

/* Sets *v to the value that a register had in the caller (unusual.c: saved). */
INLINE bool saved(struct scratch *s, uint8_t how, int32_t at, uint64_t cfa, uint64_t *v)
{
    struct walk *w = &s->w;
    uint64_t place = cfa + (uint64_t)(int64_t)at;
    if (how == PLACE_SAME) return true;
    if (how == PLACE_BY_FP) {
        place = w->fp + (uint64_t)(int64_t)at;
        if (place >= cfa || place < w->sp - RED_ZONE) return true;
    }
    return fetch(s, place, v);
}

static __attribute__((noinline)) int step_wide(struct scratch *s, uint64_t pc, uint32_t rule)
{
    struct walk *w = &s->w;
    struct bpf_wide x = {0};
    uint64_t cfa, fp = w->fp, bx = w->bx, ra;
    if (!in_range(s, pc) || !find_wide(w->range_table, rule_wide(rule), &x))
        return hand_over(w, BPF_HAND_TABLE);
    if (!register_value(s, x.reg, &cfa)) return hand_over(w, BPF_HAND_REGISTER);
    cfa += (uint64_t)(int64_t)x.offset;
    if (x.deref) {
        if (!fetch(s, cfa, &cfa)) return stop(w, BPF_END_UNREADABLE);
        cfa += (uint64_t)(int64_t)x.add;
    }
    if (cfa % 8 || cfa < w->sp + 8) return stop(w, BPF_END_NO_PROGRESS);
    if (!saved(s, x.fp, x.fp_at, cfa, &fp) || !saved(s, x.third, x.third_at, cfa, &bx) ||
        !fetch(s, cfa - 8, &ra))
        return stop(w, BPF_END_UNREADABLE);
    return arrive(s, ra, cfa, fp, bx);
}

/* Continues with the context of the interrupted code, which the kernel stored at sp.  The code may
 * use another stack. */
static __attribute__((noinline)) int step_signal(struct scratch *s)
{
    struct walk *w = &s->w;
    uint64_t at = w->sp + GREGS;
    if (!reach(s, at, 17 * 8)) return stop(w, BPF_END_UNREADABLE);
    w->fp = word_in(s, at + 8 * 10);
    w->bx = word_in(s, at + 8 * 11);
    w->sp = word_in(s, at + 8 * 15);
    w->pc = word_in(s, at + 8 * 16);
    w->context = at;
    w->exact = 1;
    w->guess = 0;
    return 0;
}
