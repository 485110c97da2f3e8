/* Steps that are rare: a walk leaves its registers for them. */
#include "unwind/walk.h"

/* ---- the part of the stack that may be read ---- */

static window copy_window(const stack_copy *c)
{
    uintptr_t lo = (c->base + 7) & ~(uintptr_t)7, skip = lo - c->base;
    if (c->n < 8 || c->n - 8 < skip) return (window){1, 0, 0, 0};
    return (window){lo, c->n - 8 - skip, (uintptr_t)c->bytes - c->base, 0};
}

/* A function that is returning may have its saved registers below sp already, in the red zone. */
window walk_window(uintptr_t sp, const unwind_stack *stack, const stack_copy *copy)
{
    if (copy) return copy_window(copy);
    uintptr_t lo = sp < ARCH_RED_ZONE ? 0 : sp - ARCH_RED_ZONE, page = sp - sp % PAGE;
    if (stack && sp >= stack->lo && sp < stack->hi && stack->hi - sp >= 8) {
        lo = lo < stack->lo ? stack->lo : lo;
        return (window){lo, stack->hi - 8 - lo, 0, 0};
    }
    if (page < PAGE || !arch_readable(page)) return (window){1, 0, 0, 0}; /* no word begins at 1 */
    if (lo < page && arch_readable(page - PAGE)) /* else sp is at the very end of its stack */
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

/* ---- rules ---- */

const unwind_object *walk_object(const unwind_snapshot *s, uintptr_t pc)
{
    uint32_t lo = 0, hi = s->n_objects;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->objects[mid]->hi <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->n_objects && s->objects[lo]->lo <= pc ? s->objects[lo] : NULL;
}

NOINLINE uint32_t walk_rule(unwind_snapshot *s, uintptr_t pc, _Atomic uint64_t *slot,
                            const wide_rule **wide)
{
    const unwind_object *o = walk_object(s, pc);
    if (!o) {
        atomic_fetch_add_explicit(&s->missed, 1, memory_order_relaxed);
        return RULE_NONE;
    }
    uint32_t rule = table_find(&o->table, pc - o->table.base);
    if (rule_kind(rule) == RULE_WIDE)
        *wide = &o->table.wide[rule_wide(rule)];
    else if (pc >> 48 ==
             0) /* relaxed: the word is whole or absent, and valid as long as the snapshot */
        atomic_store_explicit(slot, (uint64_t)pc >> CACHE_BITS << RULE_BITS | rule,
                              memory_order_relaxed);
    return rule;
}

/* ---- wide rules ---- */

/* Any register, if it is known in this frame. */
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

/* The value that a register had in the caller; `bit` tells in `known` whether there is one.  Compilers forget to say that
 * rbp is popped again when a stack that was realigned is left: a place by fp that is not in this frame is such a case. */
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
    *known |= bit;
    return fetch(&k->w, place, v, true);
}

static bool step_wide(walk *k, const wide_rule *w)
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

/* The kernel put the whole context of the interrupted code on the stack; that may be another stack. */
static bool step_signal(walk *k)
{
    uintptr_t c = k->f.r.sp + SIGNAL_CONTEXT;
    if (c % 8 != 0 || !reach(&k->w, c + CONTEXT_FIRST) || !reach(&k->w, c + CONTEXT_LAST))
        return stop(k, UNWIND_UNREADABLE);
    k->f = (frame){.r = unwind_regs_of((const void *)(c + k->w.shift)), .exact = true};
    k->w = walk_window(k->f.r.sp, k->stack, k->copy);
    k->known = KNOWN_ALL;
    return true;
}

/* ---- no rule ---- */

/* A return address at the very start of a function, with nothing before it, was not pushed by a call: somebody who
 * prepared a stack put it there (makecontext), and it is the end. */
static bool made_by_hand(walk *k, unwind_snapshot *s)
{
    const wide_rule *wide;
    return !k->f.exact && s && rule_kind(rule_at(s, k->f.r.pc, &wide)) != RULE_NONE;
}

/* Can ra have been pushed by a call?  Where the code has a table it has a rule. */
static bool plausible(unwind_snapshot *s, uintptr_t ra)
{
    const wide_rule *wide;
    if (ra < PAGE || ra >> 48) return false;
    const unwind_object *o = s ? walk_object(s, ra - 1) : NULL;
    return !o || !o->table.n_rows || rule_kind(rule_at(s, ra - 1, &wide)) != RULE_NONE;
}

/* Interrupted in a stub without a rule?  Code that runs can be read, but a program that jumped to where a
 * library was may be dying just now: ask. */
static uint32_t stub_offset(const walk *k, const unwind_snapshot *s)
{
    uintptr_t pc = k->f.r.pc;
    const unwind_object *o = k->f.exact && s ? walk_object(s, pc) : NULL;
    if (!o || pc - o->lo < ARCH_STUB || o->hi - pc < ARCH_STUB) return 0;
    if (!arch_readable((pc - ARCH_STUB) & ~(uintptr_t)7) ||
        !arch_readable((pc + ARCH_STUB - 1) & ~(uintptr_t)7))
        return 0;
    return arch_stub((const volatile uint8_t *)pc);
}

/* No rule: a frame pointer is sane when it is aligned, not below sp, in the stack, and what is saved
 * there can be a return address and leads further up. */
static bool step_guess(walk *k, unwind_snapshot *s)
{
    uintptr_t fp = k->f.r.fp, next, ra;
    if (made_by_hand(k, s)) return stop(k, UNWIND_WHOLE);
    uint32_t stub = stub_offset(k, s);
    if (stub) return step_cfa(k, k->f.r.sp + stub, 0, 0, k->copy);
    if (!(k->known & UNWIND_KNOWN_FP)) return stop(k, UNWIND_NO_REGISTER);
    if (fp % 8 != 0 || fp < k->f.r.sp) return stop(k, UNWIND_NO_RULE);
    if (!fetch(&k->w, fp, &next, true) || !fetch(&k->w, fp + 8, &ra, true))
        return stop(k, UNWIND_NO_RULE);
    ra = arch_code(ra);
    if (!ra && !next) return stop(k, UNWIND_WHOLE);
    if (!plausible(s, ra) || (next && next <= fp)) return stop(k, UNWIND_NO_RULE);
    k->guesses++;
    return arrive(k, ra, fp + 16, next, k->f.r.third);
}

NOINLINE bool walk_unusual(walk *k, unwind_snapshot *s, uint32_t rule, const wide_rule *wide)
{
    if (wide) return step_wide(k, wide);
    return rule_kind(rule) == RULE_SIGNAL ? step_signal(k) : step_guess(k, s);
}

/* ---- copies: registers that are not known ---- */

NOINLINE bool walk_recover(walk *k, unwind_snapshot *s, uint32_t rule)
{
    (void)s, (void)rule;
    return stop(k, UNWIND_NO_REGISTER);
}
