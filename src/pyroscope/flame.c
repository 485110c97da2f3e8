/* Lays out the levels of a flame graph.  A walk from the root, left to right, meets the boxes of each
 * level in their order, so the levels are filled in one array whose parts are counted before. */
#include "pyroscope/flame.h"

#include "base/hash.h"
#include "pyroscope/flame_cut.h"

#include "base/ban.h"

/* The boxes at one depth. */
typedef struct row {
    int64_t *next;    /* numbers of the next box */
    int64_t end[2];   /* of the last box */
    uint32_t child;   /* of the open box above: the next child, 0: none */
    int64_t x[2];     /* where it begins */
    int64_t other[2]; /* sum of the children that are not kept */
} row;

typedef struct layout {
    const flame_sides *s;
    flame_cut cut;
    pyro_flame *out;
    row *rows; /* by depth of the boxes */
    arena *a;
    uint32_t *name_of; /* by frame: index of the name + 1 */
    VEC(str) names;
    hash_index by_name;
    err *e;
} layout;

/* ---- names ---- */

/* Different frames may have the same label. */
static bool name_index(layout *l, str name, uint32_t *out)
{
    hash_index *x = &l->by_name;
    if (!hash_index_room(x, l->a)) return arena_spent(l->a, l->e);
    uint64_t h = hash_bytes(name.p, name.n, x->seed);
    uint32_t i = hash_first(x, h);
    for (uint32_t at; hash_next(x, &i, h, &at); i++)
        if (str_eq(l->names.v[at], name)) return *out = at, true;
    str *slot = vec_push(l->a, &l->names);
    if (!slot) return arena_spent(l->a, l->e);
    *slot = name;
    *out = (uint32_t)l->names.n - 1;
    hash_put(x, i, h, *out);
    return true;
}

static bool name_of_node(layout *l, uint32_t node, uint32_t *out)
{
    const tree *t = l->s->t;
    if (!node) return *out = 0, true;
    uint32_t *known = &l->name_of[t->frame[node]];
    if (!*known) {
        if (!name_index(l, frame_label(t->frames, t->frame[node]), known)) return false;
        ++*known;
    }
    return *out = *known - 1, true;
}

/* ---- boxes ---- */

static bool advance(layout *l, int64_t *x, int64_t by)
{
    if (!ckd_add(x, *x, by)) return true;
    return err_set(l->e, ERR_LIMIT, "the sum of the values exceeds 2^63");
}

static bool put(layout *l, row *r, const int64_t *x, const int64_t *total, const int64_t *self,
                uint32_t name)
{
    for (size_t side = 0; side < l->s->n; side++) {
        *r->next++ = x[side] - r->end[side];
        *r->next++ = total[side];
        *r->next++ = self[side];
        r->end[side] = x[side];
        if (!advance(l, &r->end[side], total[side])) return false;
        if (self[side] > l->out->max_self) l->out->max_self = self[side];
    }
    *r->next++ = name;
    return true;
}

/* Puts the next child of the open box above `r` and opens it in `below`, which is NULL in the last
 * level. */
static bool put_child(layout *l, row *r, row *below)
{
    const flame_sides *s = l->s;
    uint32_t node = r->child, name;
    int64_t total[2] = {0}, self[2] = {0};
    r->child = s->t->next_sibling[node];
    for (size_t side = 0; side < s->n; side++) {
        total[side] = flame_value(s, side, node, false);
        self[side] = flame_value(s, side, node, true);
    }
    if (!(l->cut.flags[node] & FLAME_KEPT)) {
        for (size_t side = 0; side < s->n; side++)
            if (!advance(l, &r->other[side], total[side])) return false;
        return true;
    }
    if (!name_of_node(l, node, &name) || !put(l, r, r->x, total, self, name)) return false;
    for (size_t side = 0; side < s->n; side++) {
        if (below) {
            below->x[side] = r->x[side] + self[side];
            below->other[side] = 0;
        }
        if (!advance(l, &r->x[side], total[side])) return false;
    }
    if (below) below->child = s->t->first_child[node];
    return true;
}

static bool put_other(layout *l, row *r)
{
    uint32_t name;
    if (!r->other[0] && !r->other[1]) return true;
    return name_index(l, PYRO_OTHER, &name) && put(l, r, r->x, r->other, r->other, name);
}

/* rows[d].child is a child at depth d.  Every kept node but the deepest opens the row below it. */
static bool put_all(layout *l)
{
    const flame_sides *s = l->s;
    size_t n = l->cut.n_levels;
    row root = {.next = l->rows[0].next};
    int64_t total[2] = {0}, self[2] = {0};
    for (size_t side = 0; side < s->n; side++) {
        total[side] = flame_value(s, side, 0, false);
        self[side] = flame_value(s, side, 0, true);
    }
    if (!put(l, &root, root.x, total, self, 0)) return false;
    if (n < 2) return true;
    memcpy(l->rows[1].x, self, sizeof self);
    l->rows[1].child = s->t->first_child[0];
    for (size_t d = 1; d;) {
        row *r = &l->rows[d];
        if (!r->child) {
            if (!put_other(l, r)) return false;
            d--;
            continue;
        }
        bool kept = l->cut.flags[r->child] & FLAME_KEPT;
        row *below = d + 1 < n ? r + 1 : NULL;
        if (!put_child(l, r, below)) return false;
        if (kept && below) d++;
    }
    return true;
}

/* ---- the graph ---- */

static bool begin(layout *l)
{
    size_t columns = l->s->n == 2 ? PYRO_FLAME_DIFF_COLUMNS : PYRO_FLAME_COLUMNS;
    size_t n = l->cut.n_levels, boxes = 0;
    size_t *level = arena_new(l->a, size_t, n + 1);
    l->rows = arena_new(l->a, row, n);
    l->name_of = arena_new(l->a, uint32_t, l->s->t->frames->v.n);
    uint32_t root;
    if (!level || !l->rows || !l->name_of) return arena_spent(l->a, l->e);
    if (!name_index(l, STR("total"), &root)) return false;
    for (size_t d = 0; d < n; d++) {
        boxes += l->cut.n_boxes[d];
        level[d + 1] = boxes * columns;
    }
    int64_t *values = arena_array(l->a, boxes * columns, sizeof *values);
    if (!values) return arena_spent(l->a, l->e);
    for (size_t d = 0; d < n; d++) l->rows[d].next = values + level[d];
    *l->out = (pyro_flame){.values = values, .level = level, .n_levels = n};
    return true;
}

static bool lay_out(const flame_sides *s, uint64_t max_nodes, arena *a, pyro_flame *out, err *e)
{
    layout l = {.s = s, .out = out, .a = a, .e = e};
    *out = (pyro_flame){0};
    if (!flame_cut_of(s, max_nodes, a, &l.cut, e) || !begin(&l) || !put_all(&l)) return false;
    out->names = l.names.v;
    out->n_names = l.names.n;
    out->total = flame_value(s, 0, 0, false);
    if (s->n < 2) return true;
    out->diff = true;
    out->left_ticks = out->total;
    out->right_ticks = flame_value(s, 1, 0, false);
    return advance(&l, &out->total, out->right_ticks);
}

bool pyro_flame_of(const tree *t, uint64_t max_nodes, arena *a, pyro_flame *out, err *e)
{
    return lay_out(&(flame_sides){.t = t, .n = 1, .side = {t}}, max_nodes, a, out, e);
}

bool pyro_flame_diff_of(const tree *all, const tree *left, const tree *right, uint64_t max_nodes,
                        arena *a, pyro_flame *out, err *e)
{
    uint32_t *at[2];
    if (!tree_match(all, left, a, &at[0], e) || !tree_match(all, right, a, &at[1], e)) return false;
    flame_sides s = {.t = all, .n = 2, .side = {left, right}, .at = {at[0], at[1]}};
    return lay_out(&s, max_nodes, a, out, e);
}
