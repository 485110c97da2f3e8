/* Address spaces of perf.data: AVL trees of intervals, changed by split and join.
 *
 *   add [s, l):   older maps   ▒▒▒▒▒▒▒▒▒   ▒▒▒▒▒   ▒▒▒▒▒▒▒▒
 *                 the new one        ████████████████
 *                 afterwards   ▒▒▒▒▒▒████████████████▒▒▒▒▒     uncovered parts remain
 *
 * (1) Nodes of one tree never overlap and are ordered by `start`. (2) Nodes are copy-on-write: only
 * the tree with the same `owner` may modify a node; other trees copy it first. */
#include "format/perf_data.h"

#include "base/ban.h"

/* An insertion copies at most 8 paths of at most 64 nodes each. */
enum { NODES_PER_ADD = 512 };

bool perf_maps_init(perf_maps *m, arena *a)
{
    *m = (perf_maps){.a = a};
    return vec_push(a, &m->nodes) != NULL;
}

/* ---- the tree ---- */

typedef struct tree {
    perf_maps *m;
    uint32_t owner;
} tree;

static perf_node *at(const tree *t, uint32_t i) { return &t->m->nodes.v[i]; }

static uint32_t height(const tree *t, uint32_t i) { return i ? at(t, i)->height : 0; }

static uint32_t add_node(const tree *t, perf_node from) /* perf_space_add has reserved memory */
{
    from.owner = t->owner;
    t->m->nodes.v[t->m->nodes.n] = from;
    return (uint32_t)t->m->nodes.n++;
}

static uint32_t own(const tree *t, uint32_t i)
{
    return at(t, i)->owner == t->owner ? i : add_node(t, *at(t, i));
}

static void set_children(const tree *t, uint32_t i, uint32_t left, uint32_t right)
{
    uint32_t l = height(t, left), r = height(t, right);
    at(t, i)->left = left;
    at(t, i)->right = right;
    at(t, i)->height = 1 + (l > r ? l : r);
}

static uint32_t rotate_left(const tree *t, uint32_t i)
{
    uint32_t r = own(t, at(t, i)->right);
    set_children(t, i, at(t, i)->left, at(t, r)->left);
    set_children(t, r, i, at(t, r)->right);
    return r;
}

static uint32_t rotate_right(const tree *t, uint32_t i)
{
    uint32_t l = own(t, at(t, i)->left);
    set_children(t, i, at(t, l)->right, at(t, i)->right);
    set_children(t, l, at(t, l)->left, i);
    return l;
}

/* Returns node i (owned) with these children, whose heights differ by at most two. */
static uint32_t balance(const tree *t, uint32_t i, uint32_t left, uint32_t right)
{
    uint32_t l = height(t, left), r = height(t, right);
    if (r > l + 1) {
        if (height(t, at(t, right)->left) > height(t, at(t, right)->right))
            right = rotate_right(t, own(t, right));
        set_children(t, i, left, right);
        return rotate_left(t, i);
    }
    if (l > r + 1) {
        if (height(t, at(t, left)->right) > height(t, at(t, left)->left))
            left = rotate_left(t, own(t, left));
        set_children(t, i, left, right);
        return rotate_right(t, i);
    }
    set_children(t, i, left, right);
    return i;
}

/* Joins all of `left`, node i (owned) and all of `right`, in this order. */
static uint32_t join(const tree *t, uint32_t left, uint32_t i, uint32_t right)
{
    if (height(t, left) > height(t, right) + 1) {
        left = own(t, left);
        uint32_t joined = join(t, at(t, left)->right, i, right);
        return balance(t, left, at(t, left)->left, joined);
    }
    if (height(t, right) > height(t, left) + 1) {
        right = own(t, right);
        uint32_t joined = join(t, left, i, at(t, right)->left);
        return balance(t, right, joined, at(t, right)->right);
    }
    set_children(t, i, left, right);
    return i;
}

typedef struct halves {
    uint32_t below, rest;
} halves;

/* Splits a tree into nodes that start below `address` and the others. */
static halves split(const tree *t, uint32_t i, uint64_t address)
{
    if (!i) return (halves){0, 0};
    i = own(t, i);
    uint32_t left = at(t, i)->left, right = at(t, i)->right;
    halves h;
    if (at(t, i)->start < address) {
        h = split(t, right, address);
        h.below = join(t, left, i, h.below);
    } else {
        h = split(t, left, address);
        h.rest = join(t, h.rest, i, right);
    }
    return h;
}

static uint32_t last(const tree *t, uint32_t i)
{
    while (i && at(t, i)->right) i = at(t, i)->right;
    return i;
}

/* Ends the last node at `limit`; copies the path to it if needed. */
static uint32_t cut_last(const tree *t, uint32_t i, uint64_t limit)
{
    i = own(t, i);
    uint32_t right = at(t, i)->right;
    if (right)
        at(t, i)->right = cut_last(t, right, limit);
    else
        at(t, i)->limit = limit;
    return i;
}

/* ---- address spaces ---- */

static uint32_t fresh_owner(perf_maps *m) { return ++m->n_owners; }

bool perf_space_add(perf_maps *m, perf_space *s, uint32_t map)
{
    uint64_t start = m->maps.v[map].start, limit = m->maps.v[map].limit;
    if (start >= limit) return true;
    if (m->nodes.n > UINT32_MAX - NODES_PER_ADD || !vec_reserve(m->a, &m->nodes, NODES_PER_ADD))
        return false;
    if (!s->owner) s->owner = fresh_owner(m);
    tree t = {m, s->owner};
    halves low = split(&t, s->root, start), high = split(&t, low.rest, limit);
    uint32_t before = last(&t, low.below), covered = last(&t, high.below);
    perf_node rest = covered ? *at(&t, covered)
                             : *at(&t, before); /* the node that may extend beyond the new map */
    if (before && at(&t, before)->limit > start) low.below = cut_last(&t, low.below, start);
    if (rest.limit > limit) {
        rest.start = limit;
        high.rest = join(&t, 0, add_node(&t, rest), high.rest);
    }
    uint32_t i = add_node(&t, (perf_node){.start = start, .limit = limit, .map = map});
    s->root = join(&t, low.below, i, high.rest);
    s->version = ++m->n_versions;
    return true;
}

uint32_t perf_space_find(const perf_maps *m, const perf_space *s, uint64_t address)
{
    for (uint32_t i = s->root; i;) {
        const perf_node *n = &m->nodes.v[i];
        if (address < n->start)
            i = n->left;
        else if (address < n->limit)
            return n->map;
        else
            i = n->right;
    }
    return NO_MAP;
}

void perf_space_each(const perf_maps *m, const perf_space *s,
                     bool (*each)(void *ctx, const perf_node *n), void *ctx)
{
    enum { HEIGHT_MAX = 64 };
    uint32_t above[HEIGHT_MAX], n = 0;
    for (uint32_t i = s->root; i || n; i = m->nodes.v[i].right) {
        for (; i && n < HEIGHT_MAX; i = m->nodes.v[i].left) above[n++] = i;
        i = above[--n];
        if (!each(ctx, &m->nodes.v[i])) return;
    }
}

void perf_space_fork(perf_maps *m, perf_space *parent, perf_space *child)
{
    *child = *parent;
    parent->owner = fresh_owner(m);
    child->owner = fresh_owner(m);
}

void perf_space_clear(perf_maps *m, perf_space *s)
{
    *s = (perf_space){.owner = fresh_owner(m), .version = ++m->n_versions};
}
