/* unwind/walk.h - the state of one walk, between unwind.c (the usual steps) and unusual.c (the others).  Signal room.
 *
 * The same code walks the live stack of this thread and a copy of another one's.  unwind.c compiles the usual steps
 * twice, with `copy` as a constant; unusual.c decides at run time, by walk.w.shift and walk.known. */
#pragma once
#include "unwind/unwind.h"

#include "unwind/arch.h"

enum { PAGE = 4096, KNOWN_ALL = UNWIND_KNOWN_FP | UNWIND_KNOWN_THIRD };

/* Words that begin in [lo, lo + span] can be read, at their address + shift. */
typedef struct window {
    uintptr_t lo, span;
    uintptr_t shift; /* 0: a live stack */
    uint32_t probes; /* pages that may still be asked about */
} window;

typedef struct frame {
    unwind_regs r;
    bool exact; /* pc is the next instruction, not one behind a call */
    bool guess; /* no rule led here */
} frame;

typedef struct walk {
    window w;
    frame f;
    const unwind_stack *stack;
    const stack_copy *copy; /* NULL: a live stack */
    unsigned known; /* UNWIND_KNOWN_*: valid registers of the frame; always all on a live stack */
    unwind_end end;
    uint32_t guesses;
} walk;

/* A window around sp. */
window walk_window(uintptr_t sp, const unwind_stack *stack, const stack_copy *copy);

/* Extends a window upwards to `at`, page by page: a stack has no holes, and whatever lies behind one is not the stack. */
bool walk_grow(window *w, uintptr_t at);

/* What lookups of one walk share. */
typedef struct lookup {
    wide_rule wide; /* the last rule, if it is wide and not in a slot */
    bool lean;      /* little stack is left: only rules from the cache and from tables */
    bool looked;    /* for late objects, in this walk */
} lookup;

/* The object whose code holds pc, late ones included; NULL: none. */
unwind_object *walk_object(unwind_snapshot *s, uintptr_t pc);

/* The rule of pc, from its object; stores it in the cache's slot. */
uint32_t walk_rule(unwind_snapshot *s, uintptr_t pc, _Atomic uint64_t *slot, lookup *l);

/* A rule that is RULE_WIDE. */
const wide_rule *walk_wide(const unwind_snapshot *s, uint32_t rule, const lookup *l);

/* The object that the loader mapped around pc after the snapshot was made, as a new slot of s->late; NULL: there is none,
 * or it is not the time to look.  See late.c. */
unwind_object *walk_late(unwind_snapshot *s, uintptr_t pc);

/* A frame that has a wide rule, RULE_SIGNAL or none. */
bool walk_unusual(walk *k, unwind_snapshot *s, uint32_t rule, lookup *l);

/* A frame without a rule (guess.c). */
bool walk_guess(walk *k, unwind_snapshot *s, lookup *l);

/* n bytes of code at a run-time address, where they can be read; NULL: they cannot. */
const uint8_t *walk_code(unwind_snapshot *s, uintptr_t at, size_t n);

/* Was `ra` pushed by a call?  Its code has a rule, and the instruction before it is a call; *target: of a direct one, else 0. */
bool walk_returns(unwind_snapshot *s, uintptr_t ra, lookup *l, uintptr_t *target);

/* A copy whose rule needs a register that is not known: finds its value (recover.c).  false: the walk has ended. */
bool walk_recover(walk *k, unwind_snapshot *s, uint32_t rule, lookup *l);

/* ---- words of the stack ---- */

/* May the word at `at` (a multiple of 8) be read?  Functions that are not inlined get copies, here and in unwind.c, so
 * that the window and the frame stay in registers. */
ALWAYS_INLINE bool reach(window *w, uintptr_t at)
{
    if (LIKELY(at - w->lo <= w->span)) return true;
    window grown = *w;
    bool ok = walk_grow(&grown, at);
    *w = grown;
    return ok;
}

/* Addresses from a window or a context: never 0.  A copy may lie at any address. */
ALWAYS_INLINE uintptr_t load(uintptr_t at)
{
    typedef uintptr_t __attribute__((aligned(1), may_alias)) word;
    return *(const volatile word *)at; /* NOLINT(clang-analyzer-core.NullDereference) */
}

/* A word of the stack; false when it cannot be read.  `copy` is false where the stack is known to be live. */
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

/* ---- steps from a frame to its caller: true when there is one, which is the frame then; false at the end ---- */

ALWAYS_INLINE bool stop(walk *k, unwind_end why)
{
    k->end = why;
    return false;
}

/* The caller of a frame, once its registers are known. */
ALWAYS_INLINE bool arrive(walk *k, uintptr_t ra, uintptr_t cfa, uintptr_t fp, uintptr_t third)
{
    ra = arch_code(ra);
    if (UNLIKELY(!ra)) return stop(k, UNWIND_WHOLE);
    k->f = (frame){.r = {.pc = ra, .sp = cfa, .fp = fp, .third = third}};
    return true;
}

/* CFA is known, registers are saved k words below it.  The constant `copy` is false on a live stack. */
ALWAYS_INLINE bool step_cfa(walk *k, uintptr_t cfa, uint32_t fp_k, uint32_t third_k, bool copy)
{
    unwind_regs *r = &k->f.r;
    uintptr_t fp = r->fp, third = r->third, ra;
    if (UNLIKELY(cfa % 8 != 0 || cfa < r->sp + (ARCH_LINK ? 0 : 8)))
        return stop(k, UNWIND_NO_PROGRESS);
    if (ARCH_LINK) {
        if (!third_k && !k->f.exact) return stop(k, UNWIND_NO_PROGRESS); /* it called: LR is lost */
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
