/* Frames without a rule: code made at run time, hand-written assembler, objects without .eh_frame. */
#include "unwind/code.h"
#include "unwind/walk.h"

enum {
    AHEAD_MAX = 8 << 10, /* bytes of code that are searched for an epilogue */
    EXITS_MAX = 32,      /* places in them that may be one */
    WORDS_MAX = 64,      /* of the stack, that are searched for a return address */
    SPARSE = 8 << 10, /* bytes of code a function with a rule: more than that, and most have none */
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

/* Is ra behind a call?  Code made at run time, which is in no object, is asked about. */
static bool behind_call(unwind_snapshot *s, uintptr_t ra, uintptr_t *target)
{
    int32_t rel = 0;
    if (ra < PAGE || ra >> 48) return false;
    const uint8_t *code = walk_code(s, ra - CODE_CALL_MAX, CODE_CALL_MAX);
    if (!code || !code_is_call(code + CODE_CALL_MAX, &rel)) return false;
    *target = rel ? ra + (uintptr_t)(intptr_t)rel : 0;
    return true;
}

/* The same, in an object. */
static bool follows_call(unwind_snapshot *s, uintptr_t ra, uintptr_t *target)
{
    return s && walk_object(s, ra - 1) && behind_call(s, ra, target);
}

bool walk_returns(unwind_snapshot *s, uintptr_t ra, lookup *l, uintptr_t *target)
{
    return follows_call(s, ra, target) && rule_kind(rule_at(s, ra - 1, l)) != RULE_NONE;
}

/* ---- ways on ---- */

static bool guessed(walk *k, uintptr_t ra, uintptr_t cfa, uintptr_t fp, uintptr_t third)
{
    if (!arrive(k, ra, cfa, fp, third)) return false;
    k->guesses++;
    k->f.guess = true;
    return true;
}

/* A return address that no call pushed: somebody who prepared a stack put it there (makecontext, boost::context), and it
 * is the end.  It is the start of a function, with nothing before it; or a rule led here, and no call is before it. */
static bool made_by_hand(const walk *k, unwind_snapshot *s, lookup *l)
{
    uintptr_t pc = k->f.r.pc, target;
    if (k->f.exact || !s) return false;
    if (rule_kind(rule_at(s, pc, l)) != RULE_NONE) return true;
    return !k->f.guess && walk_code(s, pc - CODE_CALL_MAX, CODE_CALL_MAX) && walk_object(s, pc) &&
           !follows_call(s, pc, &target);
}

/* Does the object say anything at all? */
static bool has_rules(const unwind_object *o)
{
    return o->hdr.n || atomic_load_explicit(&o->table, memory_order_relaxed);
}

/* Can ra be a return address?  In an object: it has a rule, or it has none and a call is before it (V8's builtins).  Code
 * made at run time need not call: Java's interpreter pushes addresses of stubs by hand.  It can be read, and is not on the
 * stack.  Without a snapshot, or where code cannot be read, anything goes. */
static bool plausible(const walk *k, unwind_snapshot *s, uintptr_t ra, lookup *l)
{
    uintptr_t target;
    if (ra < PAGE || ra >> 48) return false;
    const unwind_object *o = s ? walk_object(s, ra - 1) : NULL;
    if (!s || (o ? !has_rules(o) && !o->code.n : s->foreign)) return true;
    if (!o) return ra - k->w.lo > k->w.span && walk_code(s, ra - 1, 2);
    return rule_kind(rule_at(s, ra - 1, l)) != RULE_NONE || behind_call(s, ra, &target);
}

/* Interrupted in a stub without a rule?  Code that runs can be read, but a program that jumped to where a
 * library was may be dying just now: walk_code() asks. */
static uint32_t stub_offset(const walk *k, unwind_snapshot *s)
{
    uintptr_t pc = k->f.r.pc;
    if (!k->f.exact || !s || !walk_object(s, pc)) return 0;
    const uint8_t *code = walk_code(s, pc - ARCH_STUB, 2 * ARCH_STUB);
    return code ? arch_stub(code + ARCH_STUB) : 0;
}

/* The end of a stack that was prepared by hand, as Go does it: the frame pointers end, and the return address is in an
 * object but not behind a call (runtime.goexit + 1). */
static bool prepared(unwind_snapshot *s, uintptr_t ra, lookup *l)
{
    uintptr_t target;
    return s && walk_object(s, ra) && !follows_call(s, ra, &target) &&
           rule_kind(rule_at(s, ra - 1, l)) == RULE_NONE;
}

/* A frame pointer is sane when it is aligned, not below sp, in the stack, and the words saved there can be a return
 * address and lead further up.  If the return address follows a call in code that has a rule, the saved word may be
 * anything: that code need not keep frame pointers (V8's JSEntry, called from C++).
 * false: not sane; otherwise *more tells whether there is a caller. */
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

/* The code switched stacks, and its frame pointer still points to the one it came from: runtime.asmcgocall and
 * runtime.systemstack of Go.  The pair there must be beyond doubt: behind a call, and leading upwards.  The page is asked
 * about like those of any stack whose bounds are not known. */
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

/* Leaves a frame as its epilogue would.  false: there is no return address where it leads. */
static bool by_exit(walk *k, unwind_snapshot *s, const code_exit *x)
{
    uintptr_t sp = k->f.r.sp, fp = k->f.r.fp, third = k->f.r.third, ra, target;
    if (x->reload && (!fetch(&k->w, sp + x->reload_at, &sp, true) || sp <= k->f.r.sp)) return false;
    if (!fetch(&k->w, sp + x->size, &ra, true) || !follows_call(s, ra, &target)) return false;
    uintptr_t at = x->fp                    ? sp + x->fp - 1
                   : fp + 8 == sp + x->size ? fp
                                            : 0; /* a usual frame has it below */
    if (at && !fetch(&k->w, at, &fp, true)) return false;
    if (x->third && !fetch(&k->w, sp + x->third - 1, &third, true)) return false;
    if (at) k->known |= UNWIND_KNOWN_FP;
    if (x->third) k->known |= UNWIND_KNOWN_THIRD;
    return guessed(k, ra, sp + x->size + 8, fp, third);
}

/* Looks for the end of the function behind pc.  A byte of another instruction may look like a ret: only an epilogue that
 * leads to a return address counts.  false: none did. */
static bool by_epilogue(walk *k, unwind_snapshot *s, lookup *l, bool *more)
{
    uintptr_t pc = k->f.r.pc;
    const unwind_object *o = s ? walk_object(s, pc) : NULL;
    size_t n =
        o ? AHEAD_MAX : PAGE - pc % PAGE; /* code made at run time: no further than its page */
    if (o && n > o->code.at + o->code.n - pc) n = (size_t)(o->code.at + o->code.n - pc);
    const uint8_t *code = walk_code(s, pc, n);
    if (!code) return false;
    size_t at = code_next_ret(code, 0, n);
    bool own = true; /* not behind the end of the function, as far as we can tell */
    for (unsigned i = 0; at < n && i < EXITS_MAX; i++, at = code_next_ret(code, at + 1, n)) {
        code_exit x;
        code_epilogue(code, at, &x);
        if (x.by_fp && by_frame_pointer(k, s, l, more)) return true;
        if (!x.by_fp && own && by_exit(k, s, &x)) return *more = true;
        own = own && !x.by_fp && !x.size && !x.reload;
    }
    return false;
}

/* The first word above sp that a call can have left.  If fp points to the word below it, that is the caller's. */
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

/* Assembler in an object whose other functions have rules: it keeps no frame pointer as a rule, and the one that is in the
 * register belongs to a caller.  Of a copy the code may be missing: then it is as good as any other. */
static bool is_assembler(unwind_snapshot *s, uintptr_t pc)
{
    object_index x;
    const unwind_object *o = s ? walk_object(s, pc) : NULL;
    return o && o->hdr.n && object_read_index(o, &x) && x.n_search > (o->hi - o->lo) / SPARSE;
}

/* A function that was interrupted may not have set its frame pointer yet, or never do: its epilogue comes first. */
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
    /* The ABI marks the outermost frame by fp = 0, and fibers begin so. */
    return stop(k, k->f.r.fp || k->f.exact || k->f.guess ? UNWIND_NO_RULE : UNWIND_WHOLE);
}
