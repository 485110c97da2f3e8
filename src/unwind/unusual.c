/* Rare steps of a walk: windows of unknown stacks, wide rules, signal frames.  They are out of line
 * so that unwind.c keeps its state in registers and handlers with small stacks need space for one
 * frame only. */
#include "unwind/walk.h"

/* ---- the readable part of the stack ---- */

static window copy_window(const stack_copy *c)
{
    uintptr_t lo = (c->base + 7) & ~(uintptr_t)7, skip = lo - c->base;
    if (c->n < 8 || c->n - 8 < skip) return (window){1, 0, 0, 0};
    return (window){lo, c->n - 8 - skip, (uintptr_t)c->bytes - c->base, 0};
}

/* Includes the red zone, because a returning function may have its saved registers below sp. */
window walk_window(uintptr_t sp, const unwind_stack *stack, const stack_copy *copy)
{
    if (copy) return copy_window(copy);
    uintptr_t lo = sp < ARCH_RED_ZONE ? 0 : sp - ARCH_RED_ZONE, page = sp - sp % PAGE;
    if (stack && sp >= stack->lo && sp < stack->hi && stack->hi - sp >= 8) {
        lo = lo < stack->lo ? stack->lo : lo;
        return (window){lo, stack->hi - 8 - lo, 0, 0};
    }
    if (page < PAGE || !arch_readable(page)) return (window){1, 0, 0, 0}; /* no word begins at 1 */
    if (lo < page && arch_readable(page - PAGE)) /* else sp is at the low end of its stack */
        return (window){page - PAGE, 2 * PAGE - 8, 0, UNWIND_PROBES_MAX - 2};
    return (window){page, PAGE - 8, 0, UNWIND_PROBES_MAX - 1};
}

NOINLINE bool walk_grow(window *w, uintptr_t at)
{
    if (at < w->lo) return false;
    while (at - w->lo > w->span) {
        if (!w->probes || !arch_readable(w->lo + w->span + 8)) return false;
        w->probes--;
        w->span += PAGE;
    }
    return true;
}

/* ---- wide rules ---- */

/* Sets *v to the value of any register.  Returns false when it is not known in this frame. */
static bool register_value(const walk *k, uint8_t reg, uintptr_t *v)
{
    const unwind_regs *r = &k->f.r;
    size_t at = r->context ? arch_context_of(reg) : 0;
    if (reg == ARCH_REG_SP)
        *v = r->sp;
    else if (reg == ARCH_REG_FP && k->known & UNWIND_KNOWN_FP)
        *v = r->fp;
    else if (reg == ARCH_REG_THIRD && k->known & UNWIND_KNOWN_THIRD)
        *v = r->third;
    else if (at)
        *v = load((uintptr_t)r->context + at);
    else
        return false;
    return true;
}

/* Sets *v to the value that a register had in the caller.  Clears `bit` in *known when it is not
 * known.  For functions that leave a realigned stack, compilers do not describe that rbp is popped:
 * a location by fp outside of this frame shows it. */
static bool saved(walk *k, uint8_t how, int32_t at, uintptr_t cfa, uintptr_t *v, unsigned bit,
                  unsigned *known)
{
    if (how == PLACE_SAME) return true;
    uintptr_t place = cfa + (uintptr_t)(intptr_t)at;
    if (how == PLACE_BY_FP) {
        place = k->f.r.fp + (uintptr_t)(intptr_t)at;
        if (!(k->known & UNWIND_KNOWN_FP)) {
            *known &= ~bit;
            return true;
        }
        if (place >= cfa || place < k->f.r.sp - ARCH_RED_ZONE) return true;
    }
    if (k->copy && is_restored(k, place)) return true;
    *known |= bit;
    return fetch(&k->w, place, v, true);
}

/* Not inlined, so that its frame and the one of walk_guess() do not add up: handlers have little
 * stack. */
static NOINLINE bool step_wide(walk *k, const wide_rule *w)
{
    uintptr_t cfa, fp = k->f.r.fp, third = k->f.r.third, ra = 0;
    unsigned known = k->known;
    if (!register_value(k, w->reg, &cfa))
        return stop(k, k->copy ? UNWIND_NO_REGISTER : UNWIND_NO_RULE);
    cfa += (uintptr_t)(intptr_t)w->offset;
    if (w->deref) {
        if (!fetch(&k->w, cfa, &cfa, true)) return stop(k, UNWIND_UNREADABLE);
        cfa += (uintptr_t)(intptr_t)w->add;
    }
    if (cfa % 8 != 0 || cfa < k->f.r.sp + (ARCH_LINK ? 0 : 8)) return stop(k, UNWIND_NO_PROGRESS);
    if (!saved(k, w->fp, w->fp_at, cfa, &fp, UNWIND_KNOWN_FP, &known) ||
        !saved(k, w->third, w->third_at, cfa, &third, UNWIND_KNOWN_THIRD, &known) ||
        (!ARCH_LINK && !fetch(&k->w, cfa - 8, &ra, true)))
        return stop(k, UNWIND_UNREADABLE);
    k->known = known;
    if (ARCH_LINK && !(known & UNWIND_KNOWN_THIRD)) return stop(k, UNWIND_NO_REGISTER);
    return arrive(k, ARCH_LINK ? third : ra, cfa, fp, third);
}

/* ---- signals ---- */

/* Continues with the context of the interrupted code, which the kernel stored on the stack.  The
 * interrupted code may use another stack. */
static NOINLINE bool step_signal(walk *k)
{
    uintptr_t c = k->f.r.sp + SIGNAL_CONTEXT;
    if (c % 8 != 0 || !reach(&k->w, c + CONTEXT_FIRST) || !reach(&k->w, c + CONTEXT_LAST))
        return stop(k, UNWIND_UNREADABLE);
    k->f = (frame){.r = unwind_regs_of((const void *)(c + k->w.shift)), .exact = true};
    k->w = walk_window(k->f.r.sp, k->stack, k->copy);
    k->known = KNOWN_ALL;
    return true;
}

NOINLINE bool walk_unusual(walk *k, unwind_snapshot *s, uint32_t rule, lookup *l)
{
    switch (rule_kind(rule)) {
    case RULE_WIDE: return step_wide(k, walk_wide(s, rule, l));
    case RULE_SIGNAL: return step_signal(k);
    default: return walk_guess(k, s, l);
    }
}
