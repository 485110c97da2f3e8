/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/walk.bpf.h - walks a user stack with the rules of unwind/table.h.  tests/e2e/bpf_walk compares
 * the result with unwind_copy(), address by address. */
#pragma once
#include "bpf/guess.bpf.h"

/* Visits a frame and moves to its caller.  Returns 1 when the walk has ended.  A global function:
 * the verifier checks it once. */
__attribute__((noinline)) int step(struct scratch *s)
{
    if (!s) return 1;
    struct walk *w = &s->w;
    uint32_t n = w->n;
    if (n >= max_frames || n >= BPF_FRAMES_MAX) return stop(w, BPF_END_CAPPED);
    uint64_t pc = w->pc - !w->exact;
    s->body[n] = pc;
    w->n = n + 1;
    w->hash = mix(w->hash, pc);
    uint32_t found = rule_of(s, pc);
    if (found & FOUND_ABSENT) return hand_over(w, BPF_HAND_TABLE);
    uint32_t offset = rule_offset(found), fp = rule_fp(found), bx = rule_third(found);
    switch (rule_kind(found)) {
    case RULE_SP: return step_cfa(s, w->sp + offset, fp, bx);
    case RULE_FP: return step_cfa(s, w->fp + offset, fp, bx);
    case RULE_THIRD: return step_cfa(s, w->bx + offset, fp, bx);
    case RULE_END: return stop(w, BPF_END_WHOLE);
    case RULE_SIGNAL: return step_signal(s);
    case RULE_WIDE: return step_wide(s, pc, found);
    default: return step_guess(s, found);
    }
}

/* Starts the next walk in this scratch memory. */
INLINE void walk_reset(struct scratch *s) { __builtin_memset(&s->w, 0, sizeof s->w); }

INLINE void put_first_frame(struct scratch *s, struct pt_regs *r)
{
    struct walk *w = &s->w;
    uint64_t *to = s->head.regs.gpr;
    w->pc = r->ip;
    w->sp = to[7] = r->sp;
    w->fp = to[6] = r->bp;
    w->bx = to[3] = r->bx;
    w->exact = 1;
    w->context = 0;
    to[0] = r->ax, to[1] = r->dx, to[2] = r->cx, to[4] = r->si, to[5] = r->di;
    to[8] = r->r8, to[9] = r->r9, to[10] = r->r10, to[11] = r->r11;
    to[12] = r->r12, to[13] = r->r13, to[14] = r->r14, to[15] = r->r15;
}

/* Walks the user stack of the current thread. */
INLINE void walk_user(struct scratch *s, struct pt_regs *r, struct bpf_space *space)
{
    struct walk *w = &s->w;
    put_first_frame(s, r);
    if (!space) {
        w->n = 1;
        hand_over(w, BPF_HAND_SPACE);
        return;
    }
    w->first = space->first;
    w->n_ranges = space->n;
    w->serial = space->serial ^ rules_epoch << 20;
    for (int i = 0; i <= BPF_FRAMES_MAX; i++)
        if (step(s)) break;
}
