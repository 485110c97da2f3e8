/* Copies of stacks of blocked threads: only pc and sp are known at first, and most functions that need the frame pointer
 * (CFA = fp + 16) were entered when their callees had not saved it.
 *
 * The frame is found by its own contents: the pair (saved fp, return address) above sp, where the instruction before the
 * return address is a call of this very function.  A stale pair of an earlier call can look the same, so:
 *     a direct call must lead to the start of the function (by its FDE), perhaps through a stub of .plt
 *     an indirect call counts only if the rule of the caller leads to a call of the caller, judged in the same way
 *     CFA is a multiple of 16, as the ABI requires at every call */
#include "unwind/code.h"
#include "unwind/walk.h"

enum { FRAME_MAX = 64 << 10 };

/* Where a stub of .plt leads: [endbr64] [bnd] jmp *slot(%rip).  0: not a stub. */
static uintptr_t stub_target(unwind_snapshot *s, uintptr_t at)
{
#if defined(__x86_64__)
    const uint8_t *p = walk_code(s, at, 16);
    size_t i = 0;
    if (!p) return 0;
    if (p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e && p[3] == 0xfa) i = 4;
    if (p[i] == 0xf2) i++;
    if (p[i] != 0xff || p[i + 1] != 0x25) return 0;
    uintptr_t slot = at + i + 6 + (uintptr_t)(intptr_t)(int32_t)code_u32(p + i + 2);
    return !s->foreign && slot % 8 == 0 && arch_readable(slot) ? load(slot) : 0;
#else
    (void)s, (void)at;
    return 0;
#endif
}

/* Does a direct call to `target` enter the function at `start`? */
static bool enters(unwind_snapshot *s, uintptr_t target, uintptr_t start)
{
    if (target == start) return true;
    const unwind_object *o = walk_object(s, target);
    object_hit hit;
    if (!o) return false;
    (void)object_rule(o, target, &hit); /* a function with code of its own is no stub */
    return hit.start != target && stub_target(s, target) == start;
}

/* The start of the function that holds pc; 0: its object does not know. */
static uintptr_t function_start(unwind_snapshot *s, uintptr_t pc)
{
    const unwind_object *o = walk_object(s, pc);
    object_hit hit = {0};
    if (o) (void)object_rule(o, pc, &hit);
    return (uintptr_t)hit.start;
}

/* With the caller at `ra`, whose sp and fp were `sp` and `fp`: does its own rule lead to a call, and if that is a direct
 * one, to a call of the caller? */
static bool caller_holds(walk *k, unwind_snapshot *s, uintptr_t ra, uintptr_t sp, uintptr_t fp,
                         lookup *l)
{
    uint32_t rule = rule_at(s, ra - 1, l);
    uintptr_t cfa = rule_offset(rule), next, target;
    switch (rule_kind(rule)) {
    case RULE_SP: cfa += sp; break;
    case RULE_FP: cfa += fp; break;
    case RULE_END: return true;
    default: return false;
    }
    if (cfa <= sp || !fetch(&k->w, cfa - 8, &next, true) || !walk_returns(s, next, l, &target))
        return false;
    return !target || enters(s, target, function_start(s, ra - 1));
}

static bool find_frame(walk *k, unwind_snapshot *s, uintptr_t start, lookup *l, uintptr_t *fp)
{
    uintptr_t first = (k->f.r.sp + 15) & ~(uintptr_t)15, ra, saved, target;
    for (uintptr_t at = first; at - first < FRAME_MAX; at += 16) { /* CFA - 16 */
        if (!fetch(&k->w, at, &saved, true) || !fetch(&k->w, at + 8, &ra, true)) return false;
        if (!walk_returns(s, ra, l, &target)) continue;
        bool ours = target ? enters(s, target, start) : caller_holds(k, s, ra, at + 16, saved, l);
        if (!ours) continue;
        *fp = at;
        return true;
    }
    return false;
}

NOINLINE bool walk_recover(walk *k, unwind_snapshot *s, uint32_t rule, lookup *l)
{
    uintptr_t pc = k->f.r.pc - (k->f.exact ? 0 : 1);
    const unwind_object *o = walk_object(s, pc);
    object_hit hit = {0};
    if (ARCH_LINK || !o || rule_kind(rule) != RULE_FP || rule_offset(rule) != 16 ||
        rule_fp(rule) != 2)
        return stop(k, UNWIND_NO_REGISTER);
    (void)object_rule(o, pc, &hit);
    if (!hit.end || !find_frame(k, s, (uintptr_t)hit.start, l, &k->f.r.fp))
        return stop(k, UNWIND_NO_REGISTER);
    k->known |= UNWIND_KNOWN_FP;
    return true;
}
