/* Finds rules that are not in the cache of the snapshot: in the compiled table of the object or,
 * without one, by running the function's program.  Stores the result in the cache, which all
 * threads share without a lock. */
#include "unwind/walk.h"
#include "base/search.h"

/* ---- objects ---- */

static unwind_object *late_object(unwind_snapshot *s, uintptr_t pc)
{
    uint32_t n = atomic_load_explicit(&s->n_late, memory_order_relaxed);
    for (uint32_t i = 0; i < n && i < LATE_SLOTS; i++) {
        late_slot *l = &s->late[i];
        if (atomic_load_explicit(&l->ready, memory_order_acquire) && pc >= l->o.lo && pc < l->o.hi)
            return &l->o;
    }
    return NULL;
}

unwind_object *walk_object(unwind_snapshot *s, uintptr_t pc)
{
    uint32_t lo = (uint32_t)SEARCH(0, s->n_objects, i, s->objects[i]->hi <= pc);
    return lo < s->n_objects && s->objects[lo]->lo <= pc ? s->objects[lo] : late_object(s, pc);
}

static unwind_object *find_object(unwind_snapshot *s, uintptr_t pc, lookup *l)
{
    unwind_object *o = walk_object(s, pc);
    if (o) return o;
    atomic_fetch_add_explicit(&s->missed, 1, memory_order_relaxed);
    if (l->lean || l->searched) return NULL;
    l->searched = true;
    return walk_late(s, pc);
}

/* ---- wide rules ---- */

static bool same(const wide_rule *a, const wide_rule *b)
{
    return a->reg == b->reg && a->deref == b->deref && a->fp == b->fp && a->third == b->third &&
           a->offset == b->offset && a->add == b->add && a->fp_at == b->fp_at &&
           a->third_at == b->third_at;
}

/* Returns the position of a rule in s->wide; WIDE_SLOTS when there is no free slot. */
static uint32_t store_wide(unwind_snapshot *s, const wide_rule *w)
{
    uint32_t n = atomic_load_explicit(&s->n_wide, memory_order_relaxed);
    for (uint32_t i = 0; i < n && i < WIDE_SLOTS; i++)
        if (atomic_load_explicit(&s->wide[i].ready, memory_order_acquire) &&
            same(&s->wide[i].rule, w))
            return i;
    if (n >= WIDE_SLOTS) return WIDE_SLOTS;
    n = atomic_fetch_add_explicit(&s->n_wide, 1, memory_order_relaxed);
    if (n >= WIDE_SLOTS) return WIDE_SLOTS;
    s->wide[n].rule = *w;
    atomic_store_explicit(&s->wide[n].ready, 1, memory_order_release);
    return n;
}

const wide_rule *walk_wide(const unwind_snapshot *s, uint32_t rule, const lookup *l)
{
    if (rule_wide(rule) >= WIDE_SLOTS) return &l->wide;
    atomic_thread_fence(memory_order_acquire); /* pairs with the release of the cached word */
    return &s->wide[rule_wide(rule)].rule;
}

/* ---- rules ---- */

/* Runs the function's program and counts a hit.  Hits decide which objects get a table. */
static NOINLINE uint32_t run_program(unwind_object *o, uintptr_t pc, wide_rule *wide)
{
    object_hit hit;
    atomic_fetch_add_explicit(&o->hits, 1, memory_order_relaxed);
    uint32_t rule = object_rule(o, pc, &hit);
    *wide = hit.wide;
    return rule;
}

NOINLINE uint32_t walk_rule(unwind_snapshot *s, uintptr_t pc, _Atomic uint64_t *slot, lookup *l)
{
    unwind_object *o = find_object(s, pc, l);
    if (!o) return RULE_NONE;
    const unwind_table *t = atomic_load_explicit(&o->table, memory_order_acquire);
    if (!t && l->lean) return RULE_NONE;
    uint32_t rule = t ? table_find(t, pc - t->base) : run_program(o, pc, &l->wide);
    if (rule_kind(rule) == RULE_WIDE) {
        if (t) l->wide = t->wide[rule_wide(rule)];
        uint32_t at = store_wide(s, &l->wide);
        rule = RULE_WIDE | at << 3;
        if (at == WIDE_SLOTS) return rule;
    }
    if (pc >> 48 == 0) /* a single store; the rule is valid as long as the snapshot */
        atomic_store_explicit(slot, (uint64_t)pc >> CACHE_BITS << RULE_BITS | rule,
                              memory_order_release);
    return rule;
}
