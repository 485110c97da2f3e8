/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * bpf/guess.bpf.h - steps over frames without a rule, as unwind/guess.c does.  Of its methods these
 * are missing: the search for an epilogue beyond CODE_AHEAD bytes and in frames that a call returned
 * to (V8's builtins keep a frame pointer), and the search of the stack for a return address.  User
 * space applies them to walks that are handed over. */
#pragma once
#include "bpf/code.bpf.h"

/* The result of a method.  A negative BPF_HAND_*: the walk has to be handed over. */
enum { TRY_NO, TRY_STEP, TRY_END };

enum {
    OTHER_FRAME_MAX = 1 << 20,
    EXITS_MAX = 32, /* candidate epilogues that are tried */
};

INLINE bool has_rule(uint32_t found) { return rule_kind(found) != RULE_NONE; }

INLINE int whole(struct walk *w)
{
    stop(w, BPF_END_WHOLE);
    return TRY_END;
}

INLINE int guessed(struct scratch *s, uint64_t ra, uint64_t cfa, uint64_t fp, uint64_t bx)
{
    struct walk *w = &s->w;
    if (arrive(s, ra, cfa, fp, bx)) return TRY_END;
    w->guess = 1;
    if (w->guesses < 255) w->guesses++;
    return TRY_STEP;
}

/* Follows the frame pointer if it is sane.  In Go, unlike in guess.c, the saved frame pointer may be
 * on another stack: a function that runtime.systemstack calls saves the one of the goroutine. */
static __attribute__((noinline)) int by_frame_pointer(struct scratch *s)
{
    struct walk *w = &s->w;
    uint64_t fp = w->fp;
    if (fp % 8 || fp < w->sp || !reach(s, fp, 16)) return TRY_NO;
    uint64_t next = word_in(s, fp), ra = word_in(s, fp + 8);
    if (!ra && !next) return whole(w);
    if (ra < BPF_PAGE || ra >> 48) return TRY_NO;
    uint32_t found = rule_of(s, ra - 1);
    if (found & FOUND_ABSENT) return -BPF_HAND_TABLE;
    bool back = next && next <= fp, outside = found & FOUND_OUTSIDE;
    if (back && !has_rule(found) && !(found & FOUND_BARE)) return TRY_NO;
    if (back || (!outside && !has_rule(found))) {
        int call = follows_call(ra);
        if (call < 0) return -BPF_HAND_CODE;
        if (!call && !next) return whole(w); /* a stack that Go prepared */
        if (!call) return TRY_NO;
    }
    return guessed(s, ra, fp + 16, next, w->bx);
}

/* Follows a frame pointer to another stack: Go's runtime.asmcgocall and runtime.systemstack. */
static __attribute__((noinline)) int by_other_stack(struct scratch *s)
{
    struct walk *w = &s->w;
    uint64_t fp = w->fp;
    if (w->exact || fp % 8 || fp < BPF_PAGE || !reach(s, fp, 16)) return TRY_NO;
    uint64_t next = word_in(s, fp), ra = word_in(s, fp + 8);
    if (ra < BPF_PAGE || ra >> 48 || (next && next - fp > OTHER_FRAME_MAX)) return TRY_NO;
    uint32_t found = rule_of(s, ra - 1);
    if (found & (FOUND_ABSENT | FOUND_OUTSIDE) || follows_call(ra) != 1) return TRY_NO;
    return guessed(s, ra, fp + 16, next, w->bx);
}

/* Leaves a frame as the epilogue in s->exit would. */
static __attribute__((noinline)) int by_exit(struct scratch *s)
{
    struct walk *w = &s->w;
    const struct code_exit *x = &s->exit;
    uint64_t sp = w->sp, fp = w->fp, bx = w->bx, ra;
    if (x->reload && (!fetch(s, sp + x->reload_at, &sp) || sp <= w->sp)) return TRY_NO;
    uint64_t at = sp + x->size;
    if (!fetch(s, at, &ra) || ra < BPF_PAGE || ra >> 48) return TRY_NO;
    uint32_t found = rule_of(s, ra - 1);
    if (found & FOUND_ABSENT) return -BPF_HAND_TABLE;
    if (found & FOUND_OUTSIDE) return TRY_NO;
    int call = follows_call(ra);
    if (call < 0) return -BPF_HAND_CODE;
    if (!call) return TRY_NO;
    /* An ordinary frame saves the frame pointer below the return address. */
    uint64_t fp_at = x->fp ? sp + x->fp - 1 : fp + 8 == at ? fp : 0;
    if (fp_at && !fetch(s, fp_at, &fp)) return TRY_NO;
    if (x->third && !fetch(s, sp + x->third - 1, &bx)) return TRY_NO;
    return guessed(s, ra, at + 8, fp, bx);
}

/* Tries the ret at s->code[p].  Epilogues after the first one that changes sp may belong to another
 * function. */
__attribute__((noinline)) int try_exit(struct scratch *s, uint32_t p)
{
    if (!s) return -BPF_HAND_CODE;
    struct walk *w = &s->w;
    const struct code_exit *x = &s->exit;
    int done = TRY_NO;
    read_epilogue(s, p);
    if (x->by_fp)
        done = by_frame_pointer(s);
    else if (w->own)
        done = by_exit(s);
    w->own = w->own && !x->by_fp && !x->size && !x->reload;
    return done;
}

/* Searches the code from pc on for the end of the function.  `bare`: the object has no rules, which
 * means that its functions keep frame pointers, except those that are too short to be missed. */
INLINE int by_epilogue(struct scratch *s, uint32_t n, bool bare)
{
    uint32_t at = CODE_BEFORE, end = CODE_BEFORE + n;
    s->w.own = 1;
    for (int i = 0; i < EXITS_MAX; i++) {
        at = find_ret(s, at, end);
        if (at >= end) break;
        int done = try_exit(s, at++);
        if (done) return done;
    }
    return bare ? TRY_NO : -BPF_HAND_CODE;
}

/* Returns whether the return address was written by code that prepared a stack: it is the start of
 * a function, or a rule led to it and no call precedes it. */
static __attribute__((noinline)) int made_by_hand(struct scratch *s, bool outside)
{
    struct walk *w = &s->w;
    uint32_t at = rule_of(s, w->pc);
    if (at & FOUND_ABSENT) return -BPF_HAND_TABLE;
    if (has_rule(at)) return whole(w);
    if (w->guess || outside) return TRY_NO;
    int call = follows_call(w->pc);
    return call < 0 ? -BPF_HAND_CODE : call ? TRY_NO : whole(w);
}

__attribute__((noinline)) int step_guess(struct scratch *s, uint32_t found)
{
    if (!s) return 1;
    struct walk *w = &s->w;
    bool outside = found & FOUND_OUTSIDE;
    int done = TRY_NO;
    if (!w->exact) {
        done = made_by_hand(s, outside);
    } else if (!outside) {
        uint32_t n = read_code(s, w->pc), stub = n ? code_stub(s) : 0;
        if (stub) return step_cfa(s, w->sp + stub, 0, 0);
        done = n ? by_epilogue(s, n, found & FOUND_BARE) : -BPF_HAND_CODE;
    }
    if (!done) done = by_frame_pointer(s);
    if (!done) done = by_other_stack(s);
    if (done > 0) return done == TRY_END;
    return hand_over(w, done ? (uint8_t)-done : BPF_HAND_CODE);
}
