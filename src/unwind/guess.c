/* Steps over frames without a rule: code generated at run time, hand-written assembler, objects
 * without .eh_frame.  Each method needs evidence (a call before the return address, an epilogue
 * that leads to one), because a wrong guess produces a plausible but false stack. docs/unwind.md
 * lists the order. */
#include "arch/code.h"
#include "unwind/walk.h"

enum {
    AHEAD_MAX = 8 << 10, /* maximum bytes of code searched for an epilogue */
    EXITS_MAX = 32,      /* maximum number of candidate epilogues in them */
    WORDS_MAX = 64,      /* maximum words of the stack searched for a return address */
    SPARSE = 8 << 10,    /* bytes of code per function with a rule; above this, most have no rule */
};

/* ---- code and return addresses ---- */

const uint8_t *walk_code(unwind_snapshot *s, uintptr_t at, size_t n)
{
    const unwind_object *o = s ? walk_object(s, at) : NULL;
    if (o) {
        uintptr_t in = at - (uintptr_t)o->code.at;
        if (at < o->code.at || in > o->code.n || n > o->code.n - in) return NULL;
        return object_reach(o, o->code.p + in, n) ? o->code.p + in : NULL;
    }
    if (!s || s->foreign || at < PAGE || at >> 48) return NULL;
    for (uintptr_t page = at - at % PAGE; page < at + n; page += PAGE)
        if (!arch_readable(page)) return NULL;
    return (const uint8_t *)at;
}

/* Returns whether a call ends at ra.  Sets *target to the target of a direct call, else to 0.  For
 * code outside all objects (generated at run time), walk_code() checks that it is readable. */
static bool behind_call(unwind_snapshot *s, uintptr_t ra, uintptr_t *target)
{
    int32_t rel = 0;
    if (ra < PAGE || ra >> 48) return false;
    const uint8_t *code = walk_code(s, ra - CODE_CALL_MAX, CODE_CALL_MAX);
    if (!code || !code_is_call(code + CODE_CALL_MAX, &rel)) return false;
    *target = rel ? ra + (uintptr_t)(intptr_t)rel : 0;
    return true;
}

/* Like behind_call(), but only for code in an object. */
static bool follows_call(unwind_snapshot *s, uintptr_t ra, uintptr_t *target)
{
    return s && walk_object(s, ra - 1) && behind_call(s, ra, target);
}

bool walk_returns(unwind_snapshot *s, uintptr_t ra, lookup *l, uintptr_t *target)
{
    return follows_call(s, ra, target) && rule_kind(rule_at(s, ra - 1, l)) != RULE_NONE;
}

/* ---- steps ---- */

static bool guessed(walk *k, uintptr_t ra, uintptr_t cfa, uintptr_t fp, uintptr_t third)
{
    if (!arrive(k, ra, cfa, fp, third)) return false;
    k->guesses++;
    k->f.guess = true;
    return true;
}

/* Returns whether the return address was written by code that prepared a stack (makecontext,
 * boost::context) and not pushed by a call.  Then the stack ends here.  Such an address is the
 * start of a function, or a rule led to it and no call precedes it. */
static bool made_by_hand(const walk *k, unwind_snapshot *s, lookup *l)
{
    uintptr_t pc = k->f.r.pc, target;
    if (k->f.exact || !s) return false;
    if (rule_kind(rule_at(s, pc, l)) != RULE_NONE) return true;
    return !k->f.guess && walk_code(s, pc - CODE_CALL_MAX, CODE_CALL_MAX) && walk_object(s, pc) &&
           !follows_call(s, pc, &target);
}

/* Returns whether the object has any rules. */
static bool has_rules(const unwind_object *o)
{
    return o->hdr.n || o->go.n || atomic_load_explicit(&o->table, memory_order_relaxed);
}

/* Returns whether ra can be a return address.  In an object it has a rule, or a call precedes it
 * (V8's builtins).  Code generated at run time may not use calls: Java's interpreter pushes
 * addresses of stubs.  There ra must be readable and not on the stack.  Without a snapshot, or
 * where the code cannot be read, every address is accepted. */
static bool plausible(const walk *k, unwind_snapshot *s, uintptr_t ra, lookup *l)
{
    uintptr_t target;
    if (ra < PAGE || ra >> 48) return false;
    const unwind_object *o = s ? walk_object(s, ra - 1) : NULL;
    if (!s || (o ? !has_rules(o) && !o->code.n : s->foreign)) return true;
    if (!o) return ra - k->w.lo > k->w.span && walk_code(s, ra - 1, 2);
    return rule_kind(rule_at(s, ra - 1, l)) != RULE_NONE || behind_call(s, ra, &target);
}

/* Returns CFA - sp for a thread interrupted in a stub without a rule; 0: not in a stub. walk_code()
 * checks that the code is readable, because the library may have been unloaded. */
static uint32_t stub_offset(const walk *k, unwind_snapshot *s)
{
    uintptr_t pc = k->f.r.pc;
    if (!k->f.exact || !s || !walk_object(s, pc)) return 0;
    const uint8_t *code = walk_code(s, pc - ARCH_STUB, 2 * ARCH_STUB);
    return code ? arch_stub(code + ARCH_STUB) : 0;
}

/* Returns whether this is the end of a stack that Go prepared: the chain of frame pointers ends,
 * and the return address is in an object but not after a call (runtime.goexit + 1). */
static bool prepared(unwind_snapshot *s, uintptr_t ra, lookup *l)
{
    uintptr_t target;
    return s && walk_object(s, ra) && !follows_call(s, ra, &target) &&
           rule_kind(rule_at(s, ra - 1, l)) == RULE_NONE;
}

/* Follows the frame pointer if it is sane: aligned, not below sp, inside the stack, and the two
 * words there are a possible return address and a higher frame pointer.  If the return address
 * follows a call in code with a rule, the saved frame pointer may be anything, since that code may
 * not keep one (V8's JSEntry, called from C++).  Returns false if the frame pointer is not sane;
 * otherwise sets *more to whether there is a caller. */
static bool by_frame_pointer(walk *k, unwind_snapshot *s, lookup *l, bool *more)
{
    uintptr_t fp = k->f.r.fp, next, ra, target;
    if (!(k->known & UNWIND_KNOWN_FP) || fp % 8 != 0 || fp < k->f.r.sp) return false;
    if (!fetch(&k->w, fp, &next, true) || !fetch(&k->w, fp + 8, &ra, true)) return false;
    ra = arch_code(ra);
    if (!ra && !next) return *more = stop(k, UNWIND_WHOLE), true;
    if (!next && prepared(s, ra, l)) return *more = stop(k, UNWIND_WHOLE), true;
    if (!plausible(k, s, ra, l)) return false;
    if (next && next <= fp && !walk_returns(s, ra, l, &target)) return false;
    return *more = guessed(k, ra, fp + 16, next, k->f.r.third), true;
}

/* Follows a frame pointer to another stack.  Go's runtime.asmcgocall and runtime.systemstack
 * switch stacks and leave the frame pointer on the old one.  The return address there must follow
 * a call and the saved frame pointer must lead up.  The kernel checks the page, as for any stack
 * with unknown bounds. */
static bool by_other_stack(walk *k, unwind_snapshot *s, bool *more)
{
    enum { FRAME_MAX = 1 << 20 };
    uintptr_t fp = k->f.r.fp, next, ra, target;
    if (k->copy || k->f.exact || fp % 8 != 0 || fp < PAGE || fp >> 47) return false;
    window w = walk_window(fp, NULL, NULL);
    if (!fetch(&w, fp, &next, false) || !fetch(&w, fp + 8, &ra, false)) return false;
    if (!follows_call(s, ra, &target) || (next && next - fp > FRAME_MAX)) return false;
    k->w = w;
    return *more = guessed(k, ra, fp + 16, next, k->f.r.third), true;
}

/* Leaves a frame as its epilogue would.  Returns false if that does not lead to a return address.
 */
static bool by_exit(walk *k, unwind_snapshot *s, const code_exit *x)
{
    uintptr_t sp = k->f.r.sp, fp = k->f.r.fp, third = k->f.r.third, ra, target;
    if (x->reload && (!fetch(&k->w, sp + x->reload_at, &sp, true) || sp <= k->f.r.sp)) return false;
    if (!fetch(&k->w, sp + x->size, &ra, true) || !follows_call(s, ra, &target)) return false;
    uintptr_t at = x->fp ? sp + x->fp - 1
                   : fp + 8 == sp + x->size
                       ? fp
                       : 0; /* an ordinary frame saves it below the return address */
    if (at && !fetch(&k->w, at, &fp, true)) return false;
    if (x->third && !fetch(&k->w, sp + x->third - 1, &third, true)) return false;
    if (at) k->known |= UNWIND_KNOWN_FP;
    if (x->third) k->known |= UNWIND_KNOWN_THIRD;
    return guessed(k, ra, sp + x->size + 8, fp, third);
}

/* Searches the code after pc for the end of the function.  A byte inside another instruction may
 * look like a ret, so only an epilogue that leads to a return address counts.  Returns false if
 * none does. */
static bool by_epilogue(walk *k, unwind_snapshot *s, lookup *l, bool *more)
{
    uintptr_t pc = k->f.r.pc;
    const unwind_object *o = s ? walk_object(s, pc) : NULL;
    size_t n =
        o ? AHEAD_MAX : PAGE - pc % PAGE; /* in generated code only up to the end of the page */
    if (o && n > o->code.at + o->code.n - pc) n = (size_t)(o->code.at + o->code.n - pc);
    const uint8_t *code = walk_code(s, pc, n);
    if (!code) return false;
    size_t at = code_next_ret(code, 0, n);
    bool own = true; /* still inside the function, as far as the code shows */
    for (unsigned i = 0; at < n && i < EXITS_MAX; i++, at = code_next_ret(code, at + 1, n)) {
        code_exit x;
        code_epilogue(code, at, &x);
        if (x.by_fp && by_frame_pointer(k, s, l, more)) return true;
        if (!x.by_fp && own && by_exit(k, s, &x)) return *more = true;
        own = own && !x.by_fp && !x.size && !x.reload;
    }
    return false;
}

/* Takes the first word above sp that a call can have pushed.  If fp points to the word below it,
 * that word is the caller's frame pointer. */
static bool by_search(walk *k, unwind_snapshot *s, lookup *l, bool *more)
{
    uintptr_t at = (k->f.r.sp + 7) & ~(uintptr_t)7, fp = k->f.r.fp, ra, target;
    for (unsigned i = 0; i < WORDS_MAX; i++, at += 8) {
        if (!fetch(&k->w, at, &ra, true)) return false;
        if (!walk_returns(s, ra, l, &target)) continue;
        if (fp + 8 == at && !fetch(&k->w, fp, &fp, true)) return false;
        return *more = guessed(k, ra, at + 8, fp, k->f.r.third), true;
    }
    return false;
}

/* Returns whether pc is in assembler code of an object whose other functions have rules.  Such code
 * rarely keeps a frame pointer, so the register still holds a caller's.  Returns false if the code
 * is missing, which is possible when a copy is unwound. */
static bool is_assembler(unwind_snapshot *s, uintptr_t pc)
{
    object_index x;
    const unwind_object *o = s ? walk_object(s, pc) : NULL;
    return o && o->hdr.n && object_read_index(o, &x) && x.n_search > (o->hi - o->lo) / SPARSE;
}

/* For an interrupted function, tries the epilogue before the frame pointer, which the function may
 * not have set yet or never sets. */
NOINLINE bool walk_guess(walk *k, unwind_snapshot *s, lookup *l)
{
    bool more;
    if (made_by_hand(k, s, l)) return stop(k, UNWIND_WHOLE);
    uint32_t stub = stub_offset(k, s);
    if (stub) return step_cfa(k, k->f.r.sp + stub, 0, 0, true);
    bool assembler = !l->lean && is_assembler(s, k->f.r.pc);
    if (!l->lean && (assembler || k->f.exact) && by_epilogue(k, s, l, &more)) return more;
    if (assembler && k->f.exact && by_search(k, s, l, &more)) return more;
    if (by_frame_pointer(k, s, l, &more) || by_other_stack(k, s, &more)) return more;
    if (!l->lean && by_search(k, s, l, &more)) return more;
    if (!(k->known & UNWIND_KNOWN_FP)) return stop(k, UNWIND_NO_REGISTER);
    /* The ABI marks the outermost frame with fp = 0, and fibers start that way. */
    return stop(k, k->f.r.fp || k->f.exact || k->f.guess ? UNWIND_NO_RULE : UNWIND_WHOLE);
}
