/* Recovers the frame pointer in a copy of a blocked thread's stack.  Only pc and sp are known at
 * first, and functions that need the frame pointer (CFA = fp + 16) often have callees that did not
 * save it.
 *
 * The frame is found by its contents: a pair (saved fp, return address) above sp whose return
 * address follows a call of this function.  A stale pair of an earlier call can look the same, so
 * three conditions apply:
 *     a direct call must lead to the function's start (by its FDE), perhaps through a stub of .plt
 *     an indirect call counts only if the caller's rule leads to a call of the caller, by this test
 *     the CFA is a multiple of 16, as the ABI requires at every call */
#include "arch/code.h"
#include "unwind/walk.h"

enum { FRAME_MAX = 64 << 10 };

/* Returns the target of the stub of .plt at `at`; 0: not a stub, or the target is not known. */
static uintptr_t stub_target(unwind_snapshot *s, uintptr_t at)
{
    const uint8_t *p = s->foreign ? NULL : walk_code(s, at, ARCH_STUB);
    uintptr_t slot = p ? arch_stub_slot(p, at) : 0;
    return slot && slot % 8 == 0 && arch_readable(slot) ? load(slot) : 0;
}

/* Returns whether a direct call to `target` enters the function at `start`. */
static bool enters(unwind_snapshot *s, uintptr_t target, uintptr_t start)
{
    if (target == start) return true;
    const unwind_object *o = walk_object(s, target);
    object_hit hit;
    if (!o) return false;
    (void)object_rule(o, target, &hit); /* a function with its own FDE is not a stub */
    return hit.start != target && stub_target(s, target) == start;
}

/* Returns the start of the function that contains pc; 0: not known. */
static uintptr_t function_start(unwind_snapshot *s, uintptr_t pc)
{
    const unwind_object *o = walk_object(s, pc);
    object_hit hit = {0};
    if (o) (void)object_rule(o, pc, &hit);
    return (uintptr_t)hit.start;
}

/* Returns whether, for a caller at `ra` with these sp and fp, its own rule leads to a call and, if
 * that call is direct, to a call of the caller. */
static bool caller_agrees(walk *k, unwind_snapshot *s, uintptr_t ra, uintptr_t sp, uintptr_t fp,
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
        bool ours = target ? enters(s, target, start) : caller_agrees(k, s, ra, at + 16, saved, l);
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
