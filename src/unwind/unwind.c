/* Walks a stack by the ordinary rules, with all state in registers.  The loop is compiled twice,
 * for live stacks and for copies; rare steps are in unusual.c, guess.c and recover.c. */
#include "unwind/walk.h"

/* The ordinary frame of both processors: CFA = fp + 16, fp saved at CFA - 16. */
enum { RULE_FRAME = RULE_FP | 2 << 3 | 2 << 15, RULE_FRAME_MASK = (1 << 22) - 1 };

/* Returns the registers whose values a rule needs. */
ALWAYS_INLINE unsigned needs(uint32_t rule)
{
    return rule_kind(rule) == RULE_FP      ? UNWIND_KNOWN_FP
           : rule_kind(rule) == RULE_THIRD ? UNWIND_KNOWN_THIRD
                                           : 0;
}

ALWAYS_INLINE bool step(walk *k, unwind_snapshot *s, uintptr_t pc, lookup *l, bool copy)
{
    uint32_t rule = s ? rule_at(s, pc, l) : RULE_NONE;
    uint32_t fp = rule_fp(rule), third = rule_third(rule), offset = rule_offset(rule);
    if (copy && needs(rule) & ~k->known && !walk_recover(k, s, rule, l)) return false;
    /* With constant offsets the processor can run ahead along the frame pointers before the rules
     * are loaded. */
    if ((rule & RULE_FRAME_MASK) == RULE_FRAME) return step_cfa(k, k->f.r.fp + 16, 2, third, copy);
    switch (rule_kind(rule)) {
    case RULE_SP: return step_cfa(k, k->f.r.sp + offset, fp, third, copy);
    case RULE_FP: return step_cfa(k, k->f.r.fp + offset, fp, third, copy);
    case RULE_THIRD: return step_cfa(k, k->f.r.third + offset, fp, third, copy);
    case RULE_END: return stop(k, UNWIND_WHOLE);
    default: break;
    }
    walk left = *k;
    bool more = walk_unusual(&left, s, rule, l);
    *k = left;
    return more;
}

/* Returns whether the walk has to save stack.  Finding a rule on demand takes up to 2.2 KiB of
 * stack from here on, the rest of the walk less than 1 KiB (unwind_ends measures it).  An alternate
 * stack may be too small; the kernel stores its bounds in the context. */
static bool lean(const unwind_regs *from, const unwind_stack *stack)
{
    enum { ROOM = 2304 };
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (stack && here - stack->lo < ROOM) return true;
    if (!from->context) return false;
    uintptr_t lo = load((uintptr_t)from->context + CONTEXT_ALTSTACK),
              n = load((uintptr_t)from->context + CONTEXT_ALTSTACK_SIZE);
    return here - lo < n && here - lo < ROOM;
}

ALWAYS_INLINE unwind_result run(walk *k, unwind_snapshot *s, uintptr_t *pcs, size_t max,
                                bool is_lean, bool copy)
{
    size_t n = 0;
    lookup l = {.lean = is_lean};
    while (n < max) {
        uintptr_t pc = k->f.r.pc - (k->f.exact ? 0 : 1);
        pcs[n++] = copy && k->keep_returns ? k->f.r.pc : pc;
        if (!step(k, s, pc, &l, copy)) break;
    }
    return (unwind_result){.n = n, .end = k->end, .guesses = k->guesses};
}

unwind_result unwind(unwind_snapshot *s, const unwind_regs *from, const unwind_stack *stack,
                     uintptr_t *pcs, size_t max)
{
    window w = walk_window(from->sp, stack,
                           NULL); /* a separate variable, so that the address of k is not taken */
    walk k = {.w = {w.lo, w.span, 0, w.probes},
              .f = {.r = *from, .exact = true},
              .stack = stack,
              .known = KNOWN_ALL,
              .end = UNWIND_CAPPED};
    return run(&k, s, pcs, max, lean(from, stack), false);
}

unwind_result unwind_copy(unwind_snapshot *s, const unwind_regs *from, unsigned known,
                          const stack_copy *c, uintptr_t *pcs, size_t max)
{
    window w = walk_window(from->sp, NULL, c);
    walk k = {.w = w,
              .f = {.r = *from, .exact = !(known & UNWIND_RETURNED)},
              .copy = c,
              .known = known & KNOWN_ALL,
              .keep_returns = known & UNWIND_KEEP_RETURNS,
              .end = UNWIND_CAPPED};
    return run(&k, s, pcs, max, false, true);
}

unwind_regs unwind_regs_of(const void *context)
{
    uintptr_t c = (uintptr_t)context;
    return (unwind_regs){.pc = load(c + CONTEXT_PC),
                         .sp = load(c + CONTEXT_SP),
                         .fp = load(c + CONTEXT_FP),
                         .third = load(c + CONTEXT_THIRD),
                         .context = context};
}
