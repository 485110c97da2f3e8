/* Chooses tree nodes greedily by size, until the byte budget is spent. */
#include "server/fit.h"

#include "base/ban.h"
#include <stdlib.h>
#include <string.h>

typedef struct fitting {
    const tree *t;
    const fit_costs *c;
    uint64_t *size;
    uint32_t *frame_of; /* by frame of the table: index in out->frames + 1 */
    fitted *out;
} fitting;

static size_t frame_cost(const fitting *x, uint32_t f)
{
    const frame_table *t = x->t->frames;
    const frame *v = &t->v.v[f];
    return x->c->frame + v->label.n + frame_text(t, v->in_file).n + frame_text(t, v->in_mapping).n;
}

static int larger_first(const void *a, const void *b, void *size)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t *s = size;
    if (s[x] != s[y]) return s[x] > s[y] ? -1 : 1;
    return (x > y) - (x < y); /* parents first */
}

static int rising(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void add_sizes(fitting *x, const uint64_t *self)
{
    const tree *t = x->t;
    memcpy(x->size, self, t->n * sizeof *self);
    for (size_t i = t->n; i-- > 1;) {
        uint64_t *up = &x->size[t->parent[i]];
        if (ckd_add(up, *up, x->size[i])) *up = UINT64_MAX;
    }
}

static size_t cost_of(const fitting *x, uint32_t node, bool *new_frame)
{
    uint32_t f = x->t->frame[node];
    *new_frame = f != NO_FRAME && !x->frame_of[f];
    return x->c->node + (*new_frame ? frame_cost(x, f) : 0);
}

/* Keeps nodes in the order of out->node while they fit; always keeps the root. */
static void keep(fitting *x)
{
    fitted *o = x->out;
    size_t used = 0, n = 0;
    for (; n < o->n_all; n++) {
        bool fresh;
        size_t cost = cost_of(x, o->node[n], &fresh);
        if (n && (cost > x->c->room || used > x->c->room - cost)) break;
        used += cost;
        if (fresh) {
            o->frames[o->n_frames++] = x->t->frame[o->node[n]];
            x->frame_of[x->t->frame[o->node[n]]] = (uint32_t)o->n_frames;
        }
    }
    o->n = n;
    o->whole = n == o->n_all;
}

/* Renumbers the nodes that stay: parents come before their children. */
static bool number(fitting *x, arena *a, err *e)
{
    fitted *o = x->out;
    uint32_t *place = arena_new(a, uint32_t, x->t->n);
    o->parent = arena_new(a, uint32_t, o->n);
    o->frame = arena_new(a, uint32_t, o->n);
    if (!place || !o->parent || !o->frame) return err_memory(e);
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t f = x->t->frame[o->node[i]];
        place[o->node[i]] = i;
        o->parent[i] = i ? place[x->t->parent[o->node[i]]] : UINT32_MAX;
        o->frame[i] = f == NO_FRAME ? UINT32_MAX : x->frame_of[f] - 1;
    }
    return true;
}

bool fit_tree(const tree *t, const uint64_t *self, const uint8_t *only, const fit_costs *c,
              arena *a, fitted *out, err *e)
{
    fitting x = {.t = t, .c = c, .out = out};
    size_t n_frames = t->frames->v.n;
    *out = (fitted){0};
    x.frame_of = arena_new(a, uint32_t, n_frames + 1);
    out->frames = arena_new(a, uint32_t, n_frames + 1);
    out->node = arena_new(a, uint32_t, t->n);
    if (!x.frame_of || !out->frames || !out->node) return err_memory(e);
    for (uint32_t i = 0; i < t->n; i++)
        if (!only || only[i]) out->node[out->n_all++] = i;
    keep(&x);
    if (!out->whole) {
        if (!(x.size = arena_new(a, uint64_t, t->n))) return err_memory(e);
        add_sizes(&x, self);
        qsort_r(out->node, out->n_all, sizeof *out->node, larger_first, x.size);
        memset(x.frame_of, 0, n_frames * sizeof *x.frame_of);
        out->n_frames = 0;
        keep(&x);
        qsort(out->node, out->n, sizeof *out->node, rising);
    }
    return number(&x, a, e);
}
