/* Flame graphs as protobuf, and trees in Pyroscope's own format.  Lengths of levels are computed
 * before they are written. */
#include "pyroscope/flame.h"

#include "pyroscope/flame_cut.h"
#include "wire/pb.h"

#include "base/ban.h"

/* ---- querier.v1.FlameGraph, querier.v1.FlameGraphDiff ---- */

/* Appends a Level: field 1, packed varints.  Values are not negative. */
static void put_level(const int64_t *v, size_t n, buf *b)
{
    size_t packed = 0;
    for (size_t i = 0; i < n; i++) packed += pb_varint_len((uint64_t)v[i]);
    pb_put_varint(b, 2 << 3 | 2);
    pb_put_varint(b, 1 + pb_varint_len(packed) + packed);
    pb_put_varint(b, 1 << 3 | 2);
    pb_put_varint(b, packed);
    if (!buf_reserve(b, packed)) return;
    char *to = b->p + b->n;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = (uint64_t)v[i];
        for (; x >= 0x80; x >>= 7) *to++ = (char)(x | 0x80);
        *to++ = (char)x;
    }
    b->n += packed;
}

static void put_number(uint32_t number, int64_t v, buf *b)
{
    if (v) pb_put_uint(b, number, (uint64_t)v);
}

void pyro_flame_put(const pyro_flame *f, buf *b)
{
    for (size_t i = 0; i < f->n_names; i++) pb_put_bytes(b, 1, f->names[i]);
    for (size_t d = 0; d < f->n_levels; d++)
        put_level(f->values + f->level[d], f->level[d + 1] - f->level[d], b);
    put_number(3, f->total, b);
    put_number(4, f->max_self, b);
    if (!f->diff) return;
    put_number(5, f->left_ticks, b);
    put_number(6, f->right_ticks, b);
}

/* ---- the format TREE ---- */

#define OTHER_OF (UINT32_C(1) << 31) /* with a node: its child "other" */

typedef struct tree_out {
    const tree *t;
    flame_cut cut;
    u32s pending; /* the next node is the last one */
    arena *a;
    buf *b;
    err *e;
} tree_out;

static bool push(tree_out *o, uint32_t node)
{
    uint32_t *slot = vec_push(o->a, &o->pending);
    if (!slot) return arena_spent(o->a, o->e);
    return *slot = node, true;
}

static bool is_kept(const tree_out *o, uint32_t node) { return o->cut.flags[node] & FLAME_KEPT; }

/* Adds the children of a node, with "other" at its place in the order of the names. */
static bool push_children(tree_out *o, uint32_t node, uint64_t *n)
{
    bool other = o->cut.flags[node] & FLAME_HAS_OTHER;
    *n = o->pending.n;
    for (uint32_t c = o->t->first_child[node]; c; c = o->t->next_sibling[c]) {
        if (!is_kept(o, c)) continue;
        if (other && str_cmp(frame_label(o->t->frames, o->t->frame[c]), PYRO_OTHER) > 0) {
            if (!push(o, node | OTHER_OF)) return false;
            other = false;
        }
        if (!push(o, c)) return false;
    }
    if (other && !push(o, node | OTHER_OF)) return false;
    *n = o->pending.n - *n;
    return true;
}

/* Returns the sum of the children that are not kept. */
static bool other_of(const tree_out *o, uint32_t node, int64_t *sum)
{
    *sum = 0;
    for (uint32_t c = o->t->first_child[node]; c; c = o->t->next_sibling[c])
        if (!is_kept(o, c) && ckd_add(sum, *sum, o->t->total[c]))
            return err_set(o->e, ERR_LIMIT, "the sum of the values exceeds 2^63");
    return true;
}

static void put_node(buf *b, str name, int64_t self, uint64_t n_children)
{
    pb_put_varint(b, name.n);
    buf_str(b, name);
    pb_put_varint(b, (uint64_t)self);
    pb_put_varint(b, n_children);
}

static bool put_next(tree_out *o)
{
    uint32_t node = o->pending.v[--o->pending.n];
    uint64_t n;
    if (node & OTHER_OF) {
        int64_t sum;
        if (!other_of(o, node & ~OTHER_OF, &sum)) return false;
        put_node(o->b, PYRO_OTHER, sum, 0);
        return true;
    }
    str name = node ? frame_label(o->t->frames, o->t->frame[node]) : STR("");
    if (!push_children(o, node, &n)) return false;
    put_node(o->b, name, o->t->self[node], n);
    return true;
}

bool pyro_tree_put(const tree *t, uint64_t max_nodes, arena *a, buf *b, err *e)
{
    tree_out o = {.t = t, .a = a, .b = b, .e = e};
    flame_sides s = {.t = t, .n = 1, .side = {t}};
    if (!flame_cut_of(&s, max_nodes, a, &o.cut, e)) return false;
    if (!t->total[0]) return true;
    if (!push(&o, 0)) return false;
    while (o.pending.n)
        if (!put_next(&o)) return false;
    return true;
}
