/* The endpoints tree (flame graph) and top (table of frames), which sum samples by stack. */
#include "server/query.h"

#include "query/flat.h"
#include "query/path.h"
#include "server/fit.h"
#include "server/graph.h"
#include "server/endpoints.h"
#include "base/ban.h"

enum { ROWS = 100, ROWS_MAX = 100000, FRAME = 40, HEAD = 2048 };

static uint64_t size_of(int64_t v) { return v < 0 ? -(uint64_t)v : (uint64_t)v; }

/* Extends [*low, *high] to include v[0 .. n). */
static void widen(int64_t *low, int64_t *high, const int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *low = v[i] < *low ? v[i] : *low;
        *high = v[i] > *high ? v[i] : *high;
    }
}

bool graph_fit(query *k, const tree *t, const uint8_t *only, const tree *const *sides,
               const uint32_t *const *at, size_t n_sides, size_t per_frame, fitted *out, err *e)
{
    uint64_t *self = arena_new(k->a, uint64_t, t->n);
    if (!self) return err_memory(e);
    for (size_t s = 0; s < n_sides; s++)
        for (size_t i = 0; i < t->n; i++) {
            uint32_t x = at ? at[s][i] : (uint32_t)i;
            if (x != NO_NODE) self[i] += size_of(sides[s]->self[x]) / n_sides;
        }
    int64_t low = 0, high = 0;
    for (size_t s = 0; s < n_sides; s++) {
        widen(&low, &high, sides[s]->self, sides[s]->n);
        widen(&low, &high, sides[s]->total, sides[s]->n);
    }
    fit_costs c = {.room = k->max_bytes > HEAD ? k->max_bytes - HEAD : 0,
                   .frame = FRAME + per_frame};
    c.node = query_width(k, -1, (int64_t)t->n) + query_width(k, -1, (int64_t)t->frames->v.n) +
             2 * n_sides * query_width(k, low, high);
    if (!fit_tree(t, self, only, &c, k->a, out, e)) return false;
    if (!out->whole)
        query_cut(k, "max_bytes: only the %zu largest of %zu nodes are included", out->n,
                  out->n_all);
    return query_put_frames(k, t->frames, out->frames, out->n_frames, e);
}

bool graph_put(query *k, response_node *o, const char *key, const int64_t *v, const uint32_t *at,
               const fitted *x, err *e)
{
    int64_t *column = arena_new(k->a, int64_t, x->n);
    if (!column) return err_memory(e);
    for (size_t i = 0; i < x->n; i++) {
        uint32_t node = at ? at[x->node[i]] : x->node[i];
        column[i] = node == NO_NODE ? 0 : v[node];
    }
    response_i64s(o, key, column, x->n);
    return true;
}

/* Marks the nodes whose path from the root has these labels, everything below them, and their
 * ancestors. Frames of one label may differ in file or binary, so there can be several. */
static bool mark_below(const tree *t, str path, arena *a, uint8_t **out, err *e)
{
    uint8_t *only = *out = arena_new(a, uint8_t, t->n);
    uint32_t *depth = arena_new(a, uint32_t, t->n); /* labels that match, + 1; 0: another path */
    frame_path want;
    if (!only || !depth) return err_memory(e);
    if (!frame_path_read(path, a, &want, e)) return false;
    depth[0] = 1;
    for (size_t i = 1; i < t->n; i++) {
        uint32_t up = depth[t->parent[i]];
        if (up > want.n || (up && str_eq(want.v[up - 1], frame_label(t->frames, t->frame[i]))))
            depth[i] = up > want.n ? up : up + 1;
        else
            depth[i] = 0;
    }
    for (size_t i = t->n; i-- > 1;)
        if (only[i] || depth[i] > want.n) only[i] = only[t->parent[i]] = 1;
    only[0] = 1;
    return true;
}

bool api_tree(query *k, err *e)
{
    model m;
    frame_table f;
    view v;
    tree t;
    fitted x;
    tree_opts o = {.order = TREE_BY_TOTAL};
    str below = params_get(&k->p, "below");
    uint8_t *only = NULL;
    if (!params_flag(&k->p, "inverted", &o.inverted, e) || !query_sums(k, &m, &f, &v, e) ||
        !tree_of(&v, &o, k->a, &t, e) || (below.n && !mark_below(&t, below, k->a, &only, e)))
        return false;
    query_put_view(k, &v);
    if (!graph_fit(k, &t, only, (const tree *[]){&t}, NULL, 1, 0, &x, e)) return false;
    response_node *nodes = response_object(&k->w.root, "nodes");
    response_u32s(nodes, "parent", x.parent, x.n);
    response_u32s(nodes, "frame", x.frame, x.n);
    return graph_put(k, nodes, "self", t.self, NULL, &x, e) &&
           graph_put(k, nodes, "total", t.total, NULL, &x, e);
}

static bool put_rows(query *k, const frame_table *f, const flat *rows, err *e)
{
    uint32_t *ids = arena_new(k->a, uint32_t, rows->n + 1),
             *at = arena_new(k->a, uint32_t, rows->n + 1);
    int64_t *self = arena_new(k->a, int64_t, rows->n + 1),
            *cum = arena_new(k->a, int64_t, rows->n + 1);
    if (!ids || !at || !self || !cum) return err_memory(e);
    for (uint32_t i = 0; i < rows->n; i++) { /* each row has another frame */
        ids[i] = rows->v[i].frame;
        at[i] = i;
        self[i] = rows->v[i].flat;
        cum[i] = rows->v[i].cum;
    }
    if (!query_put_frames(k, f, ids, rows->n, e)) return false;
    response_may_cut(k->w.root.last);
    response_node *o = response_object(&k->w.root, "rows");
    response_may_cut(o);
    response_u32s(o, "frame", at, rows->n);
    response_i64s(o, "flat", self, rows->n);
    response_i64s(o, "cum", cum, rows->n);
    return true;
}

bool api_top(query *k, err *e)
{
    model m;
    frame_table f;
    view v;
    flat rows;
    uint64_t limit = ROWS;
    flat_opts o = {0};
    if (!query_limit(k, ROWS_MAX, &limit, e) || !params_flag(&k->p, "cum", &o.by_cum, e) ||
        !query_sums(k, &m, &f, &v, e))
        return false;
    o.node_count = limit;
    if (!flat_of(&v, &o, k->a, &rows, e)) return false;
    query_put_view(k, &v);
    if (!put_rows(k, &f, &rows, e)) return false;
    response_u64(&k->w.root, "all", rows.n_all);
    return true;
}
