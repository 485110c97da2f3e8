/* Builds the prefix tree of a view. */
#include "query/tree.h"

#include "query/internal.h"

#include "base/ban.h"

/* Nodes are found by (parent, frame) in an open-addressing table.  The common prefix with the
 * previous stack is not looked up; recorders usually write similar stacks next to each other. */
typedef struct growing {
    tree t;
    arena *a;
    size_t cap;
    uint32_t *slot; /* node, 0 free */
    size_t mask;
    uint32_t *path;       /* nodes of the previous stack, path[0] = 0 */
    uint32_t path_n;      /* length of path, including the root */
    uint32_t *last_child; /* by node: where the next child is appended */
} growing;

static bool grow_column(growing *g, uint32_t **column, size_t cap)
{
    uint32_t *p = arena_grow(g->a, *column, g->cap * sizeof *p, cap * sizeof *p);
    if (p) *column = p;
    return p != NULL;
}

static bool grow_nodes(growing *g, err *e)
{
    size_t cap = g->cap ? g->cap * 2 : 256;
    if (cap > UINT32_MAX) return err_set(e, ERR_LIMIT, "the tree has more than 2^31 nodes");
    tree *t = &g->t;
    int64_t *self = arena_grow(g->a, t->self, g->cap * sizeof *self, cap * sizeof *self);
    if (!self || !grow_column(g, &t->parent, cap) || !grow_column(g, &t->frame, cap) ||
        !grow_column(g, &t->first_child, cap) || !grow_column(g, &t->next_sibling, cap) ||
        !grow_column(g, &g->last_child, cap))
        return err_memory(e);
    t->self = self;
    g->cap = cap;
    return true;
}

static uint64_t slot_of(const growing *g, uint32_t parent, uint32_t which)
{
    return hash_mix(g->a->seed, (uint64_t)parent << 32 | which);
}

static bool grow_slots(growing *g, err *e)
{
    size_t n = g->slot ? (g->mask + 1) * 2 : 1024;
    uint32_t *slot = arena_new(g->a, uint32_t, n);
    if (!slot) return err_memory(e);
    for (uint32_t i = 1; i < g->t.n; i++) {
        size_t h = slot_of(g, g->t.parent[i], g->t.frame[i]) & (n - 1);
        while (slot[h]) h = (h + 1) & (n - 1);
        slot[h] = i;
    }
    g->slot = slot;
    g->mask = n - 1;
    return true;
}

static bool add_node(growing *g, uint32_t parent, uint32_t which, uint32_t *out, err *e)
{
    tree *t = &g->t;
    if (t->n == g->cap && !grow_nodes(g, e)) return false;
    uint32_t i = *out = (uint32_t)t->n++;
    t->parent[i] = parent;
    t->frame[i] = which;
    t->first_child[i] = t->next_sibling[i] = g->last_child[i] = 0;
    t->self[i] = 0;
    if (!i) return true;
    if (g->last_child[parent])
        t->next_sibling[g->last_child[parent]] = i;
    else
        t->first_child[parent] = i;
    g->last_child[parent] = i;
    return true;
}

static bool child_of(growing *g, uint32_t parent, uint32_t which, uint32_t *out, err *e)
{
    if (g->t.n * 4 > (g->mask + 1) * 3 && !grow_slots(g, e)) return false;
    size_t h = slot_of(g, parent, which) & g->mask;
    for (uint32_t i; (i = g->slot[h]); h = (h + 1) & g->mask)
        if (g->t.parent[i] == parent && g->t.frame[i] == which) return *out = i, true;
    if (!add_node(g, parent, which, out, e)) return false;
    g->slot[h] = *out;
    return true;
}

/* Adds a stack to the tree. stack[0] is the frame next to the root. */
static bool add_stack(growing *g, const uint32_t *stack, uint32_t n, int64_t value, bool *saturated,
                      err *e)
{
    uint32_t same = 0;
    while (same < n && same + 1 < g->path_n && g->t.frame[g->path[same + 1]] == stack[same]) same++;
    uint32_t node = g->path[same];
    for (uint32_t i = same; i < n; i++) {
        if (!child_of(g, node, stack[i], &node, e)) return false;
        g->path[i + 1] = node;
    }
    g->path_n = n + 1;
    if (n > g->t.max_depth) g->t.max_depth = n;
    g->t.self[node] = add_clamped(g->t.self[node], value, saturated);
    return true;
}

static void reverse(uint32_t *v, uint32_t n)
{
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint32_t t = v[i];
        v[i] = v[--n];
        v[n] = t;
    }
}

static bool add_rows(growing *g, const view *v, const tree_opts *o, err *e)
{
    uint32_t *stack = view_scratch(v, e);
    bool saturated = false;
    if (!stack) return false;
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            const view_row *r = &v->rows.v[i];
            if (!r->value) continue;
            uint32_t n = view_frames(v, p, r, stack);
            if (!stopper_step(v->stop, 1 + n, e)) return false;
            if (!o->inverted) reverse(stack, n);
            if (o->max_depth && n > o->max_depth) n = o->max_depth;
            if (!add_stack(g, stack, n, r->value, &saturated, e)) return false;
        }
    }
    return true;
}

static bool add_totals(tree *t, arena *a, err *e)
{
    bool saturated = false;
    t->total = arena_array(a, t->n, sizeof *t->total);
    if (!t->total) return err_memory(e);
    memcpy(t->total, t->self, t->n * sizeof *t->total);
    for (size_t i = t->n; i-- > 1;) {
        int64_t *up = &t->total[t->parent[i]];
        *up = add_clamped(*up, t->total[i], &saturated);
    }
    return true;
}

/* ---- order ---- */

typedef struct sorting {
    const tree *t;
    bool by_total;
} sorting;

static int child_order(const void *a, const void *b, void *how)
{
    const sorting *s = how;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (s->by_total) {
        int64_t p = abs_clamped(s->t->total[x]), q = abs_clamped(s->t->total[y]);
        if (p != q) return p > q ? -1 : 1;
    }
    int d = frame_cmp(s->t->frames, s->t->frame[x], s->t->frame[y]);
    return d ? d : (x > y) - (x < y);
}

static bool order_children(tree *t, tree_order order, arena *a, err *e)
{
    if (order == TREE_AS_MET) return true;
    u32s list = {0};
    sorting how = {t, order == TREE_BY_TOTAL};
    for (size_t i = 0; i < t->n; i++) {
        list.n = 0;
        for (uint32_t c = t->first_child[i]; c; c = t->next_sibling[c]) {
            if (!vec_reserve(a, &list, 1)) return err_memory(e);
            list.v[list.n++] = c;
        }
        if (list.n < 2) continue;
        qsort_r(list.v, list.n, sizeof *list.v, child_order, &how);
        t->first_child[i] = list.v[0];
        for (size_t k = 0; k < list.n; k++)
            t->next_sibling[list.v[k]] = k + 1 < list.n ? list.v[k + 1] : 0;
    }
    return true;
}

bool tree_of(const view *v, const tree_opts *o, arena *a, tree *out, err *e)
{
    static const tree_opts plain = {0};
    if (!o) o = &plain;
    growing g = {.a = a, .t = {.frames = v->frames}, .path_n = 1};
    uint32_t root;
    g.path = arena_new(a, uint32_t, (size_t)v->max_depth + 2);
    if (!g.path) return err_memory(e);
    if (!add_node(&g, 0, NO_FRAME, &root, e) || !grow_slots(&g, e) || !add_rows(&g, v, o, e))
        return false;
    *out = g.t;
    return add_totals(out, a, e) && order_children(out, o->order, a, e);
}

/* ---- two trees ---- */

/* Walks down both trees in parallel.  `at` is scratch by frame: the child of the current node
 * with that frame. */
static void match(const tree *all, const tree *part, uint32_t *at, uint32_t *map)
{
    map[0] = 0;
    for (size_t i = 0; i < all->n; i++) {
        uint32_t p = map[i];
        for (uint32_t k = p == NO_NODE ? 0 : part->first_child[p]; k; k = part->next_sibling[k])
            at[part->frame[k]] = k;
        for (uint32_t k = all->first_child[i]; k; k = all->next_sibling[k])
            map[k] = p == NO_NODE ? NO_NODE : at[all->frame[k]];
        for (uint32_t k = p == NO_NODE ? 0 : part->first_child[p]; k; k = part->next_sibling[k])
            at[part->frame[k]] = NO_NODE;
    }
}

bool tree_match(const tree *all, const tree *part, arena *a, uint32_t **out, err *e)
{
    size_t n_frames = all->frames->v.n;
    uint32_t *at = arena_array(a, n_frames, sizeof *at);
    *out = arena_array(a, all->n, sizeof **out);
    if (!at || !*out) return err_memory(e);
    for (size_t i = 0; i < n_frames; i++) at[i] = NO_NODE;
    match(all, part, at, *out);
    return true;
}
