/* Prunes a tree to its largest nodes, by the rule of Pyroscope: the limit is the size of the
 * max_nodes-th largest node, so that nodes of equal size stay or go together. */
#include "pyroscope/flame_cut.h"

#include "base/ban.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* Returns the k-th largest size, k > 0, or 0 if there are at most k nodes.  Fixes it digit by digit
 * from the top: the cost does not depend on the values, and nothing is copied. */
static int64_t largest(const flame_sides *s, uint64_t k)
{
    uint64_t prefix = 0, known = 0; /* the digits that are fixed */
    if (s->t->n - 1 <= k) return 0;
    for (unsigned shift = 64; shift;) {
        size_t count[DIGITS] = {0};
        shift -= DIGIT_BITS;
        for (uint32_t i = 1; i < s->t->n; i++) {
            uint64_t v = (uint64_t)flame_size(s, i);
            if ((v & known) == prefix) count[v >> shift & (DIGITS - 1)]++;
        }
        unsigned digit = DIGITS - 1;
        for (; digit && count[digit] < k; digit--) k -= count[digit];
        prefix |= (uint64_t)digit << shift;
        known |= (uint64_t)(DIGITS - 1) << shift;
    }
    return (int64_t)prefix;
}

static bool positive(const flame_sides *s, err *e)
{
    for (size_t side = 0; side < s->n; side++)
        for (size_t i = 0; i < s->side[side]->n; i++)
            if (s->side[side]->self[i] < 0)
                return err_set(e, ERR_MISMATCH, "a flame graph cannot show the negative value %lld",
                               (long long)s->side[side]->self[i]);
    return true;
}

/* Sets the flags of all nodes and counts boxes.  Parents come before their children. */
static void choose(const flame_sides *s, int64_t least, uint32_t *depth, flame_cut *out)
{
    const tree *t = s->t;
    out->flags[0] = FLAME_KEPT;
    out->n_boxes[0] = out->n_levels = 1;
    for (uint32_t i = 1; i < t->n; i++) {
        uint32_t up = t->parent[i];
        if (!(out->flags[up] & FLAME_KEPT)) continue;
        int64_t size = flame_size(s, i);
        if (!size) continue;
        depth[i] = depth[up] + 1;
        if (size >= least && !str_eq(frame_label(t->frames, t->frame[i]), PYRO_OTHER)) {
            out->flags[i] = FLAME_KEPT;
        } else {
            if (out->flags[up] & FLAME_HAS_OTHER) continue;
            out->flags[up] |= FLAME_HAS_OTHER;
        }
        if (!out->n_boxes[depth[i]]++) out->n_levels++;
    }
}

bool flame_cut_of(const flame_sides *s, uint64_t max_nodes, arena *a, flame_cut *out, err *e)
{
    arena scratch = arena_beside(a);
    *out = (flame_cut){.flags = arena_new(a, uint8_t, s->t->n),
                       .n_boxes = arena_new(a, size_t, (size_t)s->t->max_depth + 1)};
    uint32_t *depth = arena_new(&scratch, uint32_t, s->t->n);
    bool ok = out->flags && out->n_boxes && depth;
    if (!ok)
        arena_spent(a, e);
    else if ((ok = positive(s, e)))
        choose(s, max_nodes ? largest(s, max_nodes) : 0, depth, out);
    arena_free(&scratch);
    return ok;
}
