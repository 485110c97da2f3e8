/* Converts intervals to stacks over time (nest.h). Most of the code handles intervals that end
 * before a later one inside them does, and pieces of length 0 that keep the result unambiguous. */
#include "format/nest.h"

#include "base/ban.h"

/* ---- the tree ---- */

bool nest_tree_init(nest_tree *t, builder *b, arena *a)
{
    *t = (nest_tree){.b = b, .a = a};
    return vec_push(a, &t->nodes) != NULL;
}

static uint32_t out_of_memory(nest_tree *t)
{
    t->b->failed = true;
    return 0;
}

static uint32_t find_child(nest_tree *t, uint32_t node, uint32_t loc)
{
    uint32_t depth = t->nodes.v[node].depth;
    if (depth >= NEST_MAX_DEPTH) {
        t->n_cut++;
        return node;
    }
    if (!hash_index_room(&t->index, t->a)) return out_of_memory(t);
    uint64_t h = hash_mix(t->b->seed, (uint64_t)node << 32 | loc);
    uint32_t i = hash_first(&t->index, h);
    for (uint32_t at; hash_next(&t->index, &i, h, &at); i++)
        if (t->nodes.v[at].parent == node && t->nodes.v[at].location == loc) return at;
    nest_node *slot = t->nodes.n < UINT32_MAX - 1 ? vec_push(t->a, &t->nodes) : NULL;
    if (!slot) return out_of_memory(t);
    *slot = (nest_node){.parent = node, .location = loc, .depth = depth + 1};
    uint32_t index = (uint32_t)(t->nodes.n - 1);
    hash_put(&t->index, i, h, index);
    return index;
}

uint32_t nest_child(nest_tree *t, uint32_t node, uint32_t loc)
{
    nest_node *n = &t->nodes.v[node];
    if (n->recent && n->recent_location == loc) return n->recent;
    uint32_t child = find_child(t, node, loc);
    if (child == node) return child; /* too deep */
    t->nodes.v[node].recent = child;
    t->nodes.v[node].recent_location = loc;
    return child;
}

uint32_t nest_stack(nest_tree *t, uint32_t node)
{
    if (node && !t->nodes.v[node].stack) {
        uint32_t frames[NEST_MAX_DEPTH], n = 0;
        for (uint32_t at = node; at; at = t->nodes.v[at].parent)
            frames[n++] = t->nodes.v[at].location;
        t->nodes.v[node].stack = builder_stack(t->b, frames, n) + 1;
    }
    return node ? t->nodes.v[node].stack - 1 : 0;
}

/* ---- pieces ---- */

void nest_reset(nest *n)
{
    n->open.n = n->emitted = n->low = n->hidden = 0;
    n->at = INT64_MIN;
    n->cut = 0;
}

static void emit(nest *n, int64_t length)
{
    nest_open *top = n->open.n ? &n->open.v[n->open.n - 1] : NULL;
    n->piece(n->self, top ? top->node : 0, top ? top->attr : 0, n->at, length);
    if (top) top->attr = 0;
    n->emitted = n->low = n->open.n;
    n->cut = 0;
}

static void pass(nest *n, int64_t t)
{
    if (t <= n->at) return;
    if (n->open.n)
        emit(n, t - n->at);
    else
        n->cut = 0; /* a pause separates neighbours */
    n->at = t;
}

static int64_t min_end_at(const nest *n, size_t i)
{
    int64_t below = i ? n->open.v[i - 1].min_end : INT64_MAX, own = n->open.v[i].end;
    return own < below ? own : below;
}

/* Closes open.v[i] while inner intervals continue: they move one level towards the root. */
static void close_inner(nest *n, size_t i)
{
    n->n_overlaps++;
    memmove(&n->open.v[i], &n->open.v[i + 1], (n->open.n - i - 1) * sizeof *n->open.v);
    n->open.n--;
    for (size_t k = i; k < n->open.n; k++) {
        nest_open *o = &n->open.v[k];
        o->node = nest_child(n->t, k ? n->open.v[k - 1].node : 0, o->location);
        o->min_end = min_end_at(n, k);
    }
    if (n->emitted > i) n->emitted--;
    if (n->low > i) n->low = i;
}

/* Closes open.v[i] now. */
static void close_at(nest *n, size_t i)
{
    if (i + 1 > n->emitted || n->open.v[i].attr) emit(n, 0);
    if (i + 1 < n->open.n) {
        close_inner(n, i);
        return;
    }
    uint32_t loc = n->open.v[i].location;
    n->open.n = i;
    if (n->emitted > i) n->emitted = i;
    if (i < n->low) n->low = i, n->cut = loc;
}

static int64_t least_end(const nest *n)
{
    return n->open.n ? n->open.v[n->open.n - 1].min_end : INT64_MAX;
}

void nest_until(nest *n, int64_t t)
{
    for (int64_t end; (end = least_end(n)) <= t && n->open.n;) {
        size_t i = n->open.n;
        while (n->open.v[--i].end != end) continue;
        pass(n, end);
        close_at(n, i);
    }
    pass(n, t);
}

bool nest_push(nest *n, uint32_t loc, uint32_t attr, int64_t end)
{
    size_t depth = n->open.n;
    if (depth >= NEST_MAX_DEPTH) {
        n->t->n_cut++;
        n->hidden += end == INT64_MAX;
        return true;
    }
    bool seam = depth == n->low && n->cut == loc;
    if (seam || (depth && n->open.v[depth - 1].attr)) emit(n, 0);
    nest_open *o = vec_push(n->t->a, &n->open);
    if (!o) return (void)out_of_memory(n->t), false;
    uint32_t under = depth ? n->open.v[depth - 1].node : 0;
    *o = (nest_open){
        .location = loc,
        .node = nest_child(n->t, under, loc),
        .attr = attr,
        .end = end < n->at ? n->at : end,
    };
    o->min_end = min_end_at(n, depth);
    return true;
}

bool nest_end(nest *n)
{
    if (n->hidden) return n->hidden--, true;
    for (size_t i = n->open.n; i-- > 0;) {
        if (n->open.v[i].end != INT64_MAX) continue;
        close_at(n, i);
        return true;
    }
    return false;
}

void nest_finish(nest *n, int64_t t)
{
    for (int64_t end; n->open.n && (end = least_end(n)) != INT64_MAX;) nest_until(n, end);
    if (n->open.n) pass(n, t);
    while (n->open.n) close_at(n, n->open.n - 1);
}
