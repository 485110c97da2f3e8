#include "unwind/unwind.h"

#include "unwind/arch.h"

/* The usual frame: CFA = fp + 16, fp saved at CFA - 16.  Both processors have it. */
enum { RULE_FRAME = RULE_FP | 2 << 3 | 2 << 15, RULE_FRAME_MASK = (1 << 22) - 1 };

enum { PAGE = 4096 };

/* ---- the part of the stack that may be read ---- */

/* Words that begin in [lo, lo + span] may be read: one comparison tells. */
typedef struct window {
    uintptr_t lo, span;
    uint32_t probes; /* pages that may still be asked about */
} window;

/* A function that is returning may have its saved registers below sp already, in the red zone. */
static window window_at(uintptr_t sp, const unwind_stack *stack)
{
    uintptr_t lo = sp < ARCH_RED_ZONE ? 0 : sp - ARCH_RED_ZONE, page = sp - sp % PAGE;
    if (stack && sp >= stack->lo && sp < stack->hi && stack->hi - sp >= 8) {
        lo = lo < stack->lo ? stack->lo : lo;
        return (window){lo, stack->hi - 8 - lo, 0};
    }
    if (page < PAGE || !arch_readable(page)) return (window){1, 0, 0}; /* no word begins at 1 */
    if (lo < page && arch_readable(page - PAGE)) /* else sp is at the very end of its stack */
        return (window){page - PAGE, 2 * PAGE - 8, UNWIND_PROBES_MAX - 2};
    return (window){page, PAGE - 8, UNWIND_PROBES_MAX - 1};
}

/* Upwards, page by page: a stack has no holes, and what is behind one belongs to others. */
static NOINLINE bool window_grow(window *w, uintptr_t at)
{
    if (at < w->lo) return false;
    while (at - w->lo > w->span) {
        if (!w->probes || !arch_readable(w->lo + w->span + 8)) return false;
        w->probes--;
        w->span += PAGE;
    }
    return true;
}

/* May the word at `at` (a multiple of 8) be read?  What does not inline gets copies, here and below, so
 * that the window and the frame stay in registers. */
ALWAYS_INLINE bool reach(window *w, uintptr_t at)
{
    if (LIKELY(at - w->lo <= w->span)) return true;
    window grown = *w;
    bool ok = window_grow(&grown, at);
    *w = grown;
    return ok;
}

/* Addresses from a window or a context: never 0. */
ALWAYS_INLINE uintptr_t load(uintptr_t at)
{
    return *(const volatile uintptr_t *)at; /* NOLINT(clang-analyzer-core.NullDereference) */
}

/* A word of the stack; false when it may not be read. */
ALWAYS_INLINE bool fetch(window *w, uintptr_t at, uintptr_t *v)
{
    if (UNLIKELY(at % 8 != 0 || !reach(w, at))) return false;
    *v = load(at);
    return true;
}

/* ---- rules ---- */

static const unwind_object *object_at(const unwind_snapshot *s, uintptr_t pc)
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

static NOINLINE uint32_t rule_from_table(unwind_snapshot *s, uintptr_t pc, _Atomic uint64_t *slot,
                                         const wide_rule **wide)
{
    const unwind_object *o = object_at(s, pc);
    if (!o) {
        atomic_fetch_add_explicit(&s->missed, 1, memory_order_relaxed);
        return RULE_NONE;
    }
    uint32_t rule = table_find(&o->table, pc - o->table.base);
    if (rule_kind(rule) == RULE_WIDE)
        *wide = &o->table.wide[rule_wide(rule)];
    else if (pc >> 48 ==
             0) /* relaxed: the word is whole or absent, and true of this snapshot for ever */
        atomic_store_explicit(slot, (uint64_t)pc >> CACHE_BITS << RULE_BITS | rule,
                              memory_order_relaxed);
    return rule;
}

ALWAYS_INLINE uint32_t rule_at(unwind_snapshot *s, uintptr_t pc, const wide_rule **wide)
{
    _Atomic uint64_t *slot = &s->cache[(pc ^ pc >> CACHE_BITS) % CACHE_SLOTS];
    uint64_t v = atomic_load_explicit(slot, memory_order_relaxed);
    if (LIKELY(v >> RULE_BITS == pc >> CACHE_BITS)) return (uint32_t)v & ((1u << RULE_BITS) - 1);
    return rule_from_table(s, pc, slot, wide);
}

/* ---- steps from a frame to its caller ---- */

typedef struct frame {
    unwind_regs r;
    bool exact; /* pc is the next instruction, not one behind a call */
} frame;

typedef struct walk {
    window w;
    frame f;
    const unwind_stack *stack;
    unwind_end end;
    uint32_t guesses;
} walk;

/* Steps return true when there is a caller, which is the frame then, and false at the end. */
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

/* CFA is known, registers are saved k words below it. */
ALWAYS_INLINE bool step_cfa(walk *k, uintptr_t cfa, uint32_t fp_k, uint32_t third_k)
{
    unwind_regs *r = &k->f.r;
    uintptr_t fp = r->fp, third = r->third, ra;
    if (UNLIKELY(cfa % 8 != 0 || cfa < r->sp + (ARCH_LINK ? 0 : 8)))
        return stop(k, UNWIND_NO_PROGRESS);
    if (ARCH_LINK) {
        if (!third_k && !k->f.exact) return stop(k, UNWIND_NO_PROGRESS); /* it called: LR is lost */
    } else if (UNLIKELY(!fetch(&k->w, cfa - 8, &ra))) {
        return stop(k, UNWIND_UNREADABLE);
    }
    if (fp_k && UNLIKELY(!fetch(&k->w, cfa - 8 * (uintptr_t)fp_k, &fp)))
        return stop(k, UNWIND_UNREADABLE);
    if (third_k && UNLIKELY(!fetch(&k->w, cfa - 8 * (uintptr_t)third_k, &third)))
        return stop(k, UNWIND_UNREADABLE);
    if (ARCH_LINK) ra = third;
    return arrive(k, ra, cfa, fp, third);
}

/* Any register, if it is known in this frame. */
static bool register_value(const frame *f, uint8_t reg, uintptr_t *v)
{
    size_t at = f->r.context ? arch_context_of(reg) : 0;
    if (reg == ARCH_REG_SP)
        *v = f->r.sp;
    else if (reg == ARCH_REG_FP)
        *v = f->r.fp;
    else if (reg == ARCH_REG_THIRD)
        *v = f->r.third;
    else if (at)
        *v = load((uintptr_t)f->r.context + at);
    else
        return false;
    return true;
}

/* The value that a register had in the caller.  Compilers forget to say that rbp is popped again when a
 * stack that was aligned anew is left: a place by fp that is not in this frame was such a case. */
static bool saved(walk *k, uint8_t how, int32_t at, uintptr_t cfa, uintptr_t *v)
{
    if (how == PLACE_SAME) return true;
    if (how == PLACE_AT) return fetch(&k->w, cfa + (uintptr_t)(intptr_t)at, v);
    uintptr_t place = k->f.r.fp + (uintptr_t)(intptr_t)at;
    return place >= cfa || place < k->f.r.sp - ARCH_RED_ZONE || fetch(&k->w, place, v);
}

static bool step_wide(walk *k, const wide_rule *w)
{
    uintptr_t cfa, fp = k->f.r.fp, third = k->f.r.third, ra = 0;
    if (!register_value(&k->f, w->reg, &cfa)) return stop(k, UNWIND_NO_RULE);
    cfa += (uintptr_t)(intptr_t)w->offset;
    if (w->deref) {
        if (!fetch(&k->w, cfa, &cfa)) return stop(k, UNWIND_UNREADABLE);
        cfa += (uintptr_t)(intptr_t)w->add;
    }
    if (cfa % 8 != 0 || cfa < k->f.r.sp + (ARCH_LINK ? 0 : 8)) return stop(k, UNWIND_NO_PROGRESS);
    if (!saved(k, w->fp, w->fp_at, cfa, &fp) || !saved(k, w->third, w->third_at, cfa, &third) ||
        (!ARCH_LINK && !fetch(&k->w, cfa - 8, &ra)))
        return stop(k, UNWIND_UNREADABLE);
    return arrive(k, ARCH_LINK ? third : ra, cfa, fp, third);
}

/* The kernel put the whole context of what it interrupted on the stack; that may be another stack. */
static bool step_signal(walk *k)
{
    uintptr_t c = k->f.r.sp + SIGNAL_CONTEXT;
    if (c % 8 != 0 || !reach(&k->w, c + CONTEXT_FIRST) || !reach(&k->w, c + CONTEXT_LAST))
        return stop(k, UNWIND_UNREADABLE);
    k->f = (frame){.r = unwind_regs_of((const void *)c), .exact = true};
    k->w = window_at(k->f.r.sp, k->stack);
    return true;
}

/* A return address at the very start of a function, with nothing before it: no call made it, somebody
 * who prepared a stack did (makecontext), and it is the end. */
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
    const unwind_object *o = s ? object_at(s, ra - 1) : NULL;
    return !o || !o->table.n_rows || rule_kind(rule_at(s, ra - 1, &wide)) != RULE_NONE;
}

/* Interrupted in a stub without a rule?  Code that runs can be read, but a program that jumped to where a
 * library was may be dying just now: ask. */
static uint32_t stub_offset(const walk *k, const unwind_snapshot *s)
{
    uintptr_t pc = k->f.r.pc;
    const unwind_object *o = k->f.exact && s ? object_at(s, pc) : NULL;
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
    if (stub) return step_cfa(k, k->f.r.sp + stub, 0, 0);
    if (fp % 8 != 0 || fp < k->f.r.sp) return stop(k, UNWIND_NO_RULE);
    if (!fetch(&k->w, fp, &next) || !fetch(&k->w, fp + 8, &ra)) return stop(k, UNWIND_NO_RULE);
    ra = arch_code(ra);
    if (!ra && !next) return stop(k, UNWIND_WHOLE);
    if (!plausible(s, ra) || (next && next <= fp)) return stop(k, UNWIND_NO_RULE);
    k->guesses++;
    return arrive(k, ra, fp + 16, next, k->f.r.third);
}

static NOINLINE bool step_unusual(walk *k, unwind_snapshot *s, uint32_t rule, const wide_rule *wide)
{
    if (wide) return step_wide(k, wide);
    return rule_kind(rule) == RULE_SIGNAL ? step_signal(k) : step_guess(k, s);
}

ALWAYS_INLINE bool step(walk *k, unwind_snapshot *s, uintptr_t pc)
{
    const wide_rule *wide = NULL;
    uint32_t rule = s ? rule_at(s, pc, &wide) : RULE_NONE;
    uint32_t fp = rule_fp(rule), third = rule_third(rule), offset = rule_offset(rule);
    /* With constants the processor goes ahead along the frame pointers before the rules are there. */
    if ((rule & RULE_FRAME_MASK) == RULE_FRAME) return step_cfa(k, k->f.r.fp + 16, 2, third);
    switch (rule_kind(rule)) {
    case RULE_SP: return step_cfa(k, k->f.r.sp + offset, fp, third);
    case RULE_FP: return step_cfa(k, k->f.r.fp + offset, fp, third);
    case RULE_THIRD: return step_cfa(k, k->f.r.third + offset, fp, third);
    case RULE_END: return stop(k, UNWIND_WHOLE);
    default: break;
    }
    walk copy = *k;
    bool more = step_unusual(&copy, s, rule, wide);
    *k = copy;
    return more;
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

unwind_result unwind(unwind_snapshot *s, const unwind_regs *from, const unwind_stack *stack,
                     uintptr_t *pcs, size_t max)
{
    size_t n = 0;
    walk k = {
        .w = window_at(from->sp, stack), .f = {*from, true}, .stack = stack, .end = UNWIND_CAPPED};
    while (n < max) {
        uintptr_t pc = k.f.r.pc - (k.f.exact ? 0 : 1);
        pcs[n++] = pc;
        if (!step(&k, s, pc)) break;
    }
    return (unwind_result){.n = n, .end = k.end, .guesses = k.guesses};
}
