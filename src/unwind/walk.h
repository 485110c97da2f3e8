/* unwind/walk.h - the state of one walk, shared by unwind.c (ordinary steps) and the files of the
 * other steps.  Safe in signal handlers.
 *
 * The same code walks the live stack of this thread and copies of other stacks. unwind.c compiles
 * the ordinary steps twice, with `copy` as a constant; unusual.c decides at run time by
 * walk.w.shift and walk.known. */
#pragma once
#include "unwind/unwind.h"

#include "arch/context.h"
#include "arch/syscall.h"

enum { PAGE = 4096, KNOWN_ALL = UNWIND_KNOWN_FP | UNWIND_KNOWN_THIRD };

/* Words that begin in [lo, lo + span] are readable, at their address + shift. */
typedef struct window {
    uintptr_t lo, span;
    uintptr_t shift; /* 0: a live stack */
    uint32_t probes; /* number of pages that the kernel may still check */
} window;

typedef struct frame {
    unwind_regs r;
    bool exact; /* pc is the next instruction, not a return address */
    bool guess; /* reached without a rule */
} frame;

typedef struct walk {
    window w;
    frame f;
    const unwind_stack *stack;
    const stack_copy *copy; /* NULL: a live stack */
    unsigned known; /* UNWIND_KNOWN_*: valid registers of the frame; on a live stack always all */
    bool keep_returns; /* UNWIND_KEEP_RETURNS */
    unwind_end end;
    uint32_t guesses;
} walk;

/* Returns a window around sp. */
window walk_window(uintptr_t sp, const unwind_stack *stack, const stack_copy *copy);

/* Extends a window up to `at`, page by page, because a stack has no holes and memory behind a hole
 * does not belong to it.  Returns false when a page is not readable. */
bool walk_grow(window *w, uintptr_t at);

/* State shared by the lookups of one walk. */
typedef struct lookup {
    wide_rule wide; /* the last rule, if it is wide and has no slot */
    bool lean;      /* little stack is left: only rules from the cache and from tables */
    bool searched;  /* this walk has searched for late objects */
} lookup;

/* Returns the object whose code contains pc, including late ones, or NULL. */
unwind_object *walk_object(unwind_snapshot *s, uintptr_t pc);

/* Finds the rule of pc in its object and stores it in the cache slot. */
uint32_t walk_rule(unwind_snapshot *s, uintptr_t pc, _Atomic uint64_t *slot, lookup *l);

/* Returns the wide rule of a RULE_WIDE. */
const wide_rule *walk_wide(const unwind_snapshot *s, uint32_t rule, const lookup *l);

/* Returns the object that the loader mapped around pc after the snapshot was created, as a new
 * entry of s->late; NULL when there is none or the next search is not due (late.c). */
unwind_object *walk_late(unwind_snapshot *s, uintptr_t pc);

/* Leaves a frame with a wide rule, RULE_SIGNAL or no rule. */
bool walk_unusual(walk *k, unwind_snapshot *s, uint32_t rule, lookup *l);

/* Leaves a frame without a rule (guess.c). */
bool walk_guess(walk *k, unwind_snapshot *s, lookup *l);

/* Returns n bytes of code at a run-time address; NULL when they are not readable. */
const uint8_t *walk_code(unwind_snapshot *s, uintptr_t at, size_t n);

/* Returns whether a call pushed `ra`: its code has a rule, and the instruction before it is a
 * call.  Sets *target to the target of a direct call, else to 0. */
bool walk_returns(unwind_snapshot *s, uintptr_t ra, lookup *l, uintptr_t *target);

/* Finds the value of an unknown register that a rule needs in a copy (recover.c).  Returns false if
 * the walk has ended. */
bool walk_recover(walk *k, unwind_snapshot *s, uint32_t rule, lookup *l);

/* ---- words of the stack ---- */

/* Returns whether the word at `at` (a multiple of 8) is readable.  Functions that are not inlined
 * get copies of the window and the frame, here and in unwind.c, so that both stay in registers. */
ALWAYS_INLINE bool reach(window *w, uintptr_t at)
{
    if (LIKELY(at - w->lo <= w->span)) return true;
    window grown = *w;
    bool ok = walk_grow(&grown, at);
    *w = grown;
    return ok;
}

/* `at` comes from a window or a context and is never 0.  A copy may be at any address. */
ALWAYS_INLINE uintptr_t load(uintptr_t at)
{
    typedef uintptr_t __attribute__((aligned(1), may_alias)) word;
    return *(const volatile word *)at; /* NOLINT(clang-analyzer-core.NullDereference) */
}

/* Reads a word of the stack.  Returns false when it is not readable.  `copy` is a constant, false
 * for a live stack. */
ALWAYS_INLINE bool fetch(window *w, uintptr_t at, uintptr_t *v, bool copy)
{
    if (UNLIKELY(at % 8 != 0 || !reach(w, at))) return false;
    *v = load(copy ? at + w->shift : at);
    return true;
}

/* ---- rules ---- */

ALWAYS_INLINE uint32_t rule_at(unwind_snapshot *s, uintptr_t pc, lookup *l)
{
    _Atomic uint64_t *slot = &s->cache[(pc ^ pc >> CACHE_BITS) % CACHE_SLOTS];
    uint64_t v = atomic_load_explicit(slot, memory_order_relaxed);
    if (LIKELY(v >> RULE_BITS == pc >> CACHE_BITS)) return (uint32_t)v & ((1u << RULE_BITS) - 1);
    return walk_rule(s, pc, slot, l);
}

/* ---- steps to the caller; they return false when the walk has ended ---- */

ALWAYS_INLINE bool stop(walk *k, unwind_end why)
{
    k->end = why;
    return false;
}

/* Makes the caller, which has these registers, the current frame. */
ALWAYS_INLINE bool arrive(walk *k, uintptr_t ra, uintptr_t cfa, uintptr_t fp, uintptr_t third)
{
    ra = arch_code(ra);
    if (UNLIKELY(!ra)) return stop(k, UNWIND_WHOLE);
    k->f = (frame){.r = {.pc = ra, .sp = cfa, .fp = fp, .third = third}};
    return true;
}

/* Returns whether a returning function has already restored a register that was saved at `place`.  A
 * copy does not contain that place, which is below sp. */
ALWAYS_INLINE bool is_restored(const walk *k, uintptr_t place)
{
    return k->f.exact && place < k->f.r.sp;
}

/* Steps to the caller with a known CFA; registers are saved k words below it.  `copy` is a
 * constant, false for a live stack. */
ALWAYS_INLINE bool step_cfa(walk *k, uintptr_t cfa, uint32_t fp_k, uint32_t third_k, bool copy)
{
    unwind_regs *r = &k->f.r;
    uintptr_t fp = r->fp, third = r->third, ra;
    if (UNLIKELY(cfa % 8 != 0 || cfa < r->sp + (ARCH_LINK ? 0 : 8)))
        return stop(k, UNWIND_NO_PROGRESS);
    if (copy && is_restored(k, cfa - 8 * (uintptr_t)fp_k)) fp_k = 0;
    if (copy && is_restored(k, cfa - 8 * (uintptr_t)third_k)) third_k = 0;
    if (ARCH_LINK) {
        if (!third_k && !k->f.exact)
            return stop(k, UNWIND_NO_PROGRESS); /* the function made a call, so LR is lost */
        if (copy && !third_k && !(k->known & UNWIND_KNOWN_THIRD))
            return stop(k, UNWIND_NO_REGISTER);
    } else if (UNLIKELY(!fetch(&k->w, cfa - 8, &ra, copy))) {
        return stop(k, UNWIND_UNREADABLE);
    }
    if (fp_k && UNLIKELY(!fetch(&k->w, cfa - 8 * (uintptr_t)fp_k, &fp, copy)))
        return stop(k, UNWIND_UNREADABLE);
    if (third_k && UNLIKELY(!fetch(&k->w, cfa - 8 * (uintptr_t)third_k, &third, copy)))
        return stop(k, UNWIND_UNREADABLE);
    if (copy) k->known |= (fp_k ? UNWIND_KNOWN_FP : 0) | (third_k ? UNWIND_KNOWN_THIRD : 0);
    if (ARCH_LINK) ra = third;
    return arrive(k, ra, cfa, fp, third);
}
