/* Computes the sizes, groups, colours and texts of a flame graph. Groups get distinct hues in
 * order of their share; the viewer (ui/src/draw/palette.ts) follows the same rules. */
#include "draw/flame.h"

#include "draw/human.h"
#include "draw/package.h"
#include "draw/palette.h"
#include "base/ban.h"
#include <math.h>

/* ---- sizes ---- */

/* Adds up sizes from self values: parents come before their children, so the loop runs from the
 * end. */
static bool add_sizes(const tree *t, const uint32_t *map, size_t n, double *size, double *scratch)
{
    bool negative = false;
    memset(scratch, 0, t->n * sizeof *scratch);
    for (size_t i = t->n; i--;) {
        negative |= t->self[i] < 0;
        scratch[i] += fabs((double)t->self[i]);
        if (i) scratch[t->parent[i]] += scratch[i];
    }
    double all = scratch[0] > 0 ? scratch[0] : 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t at = map ? map[i] : (uint32_t)i;
        if (at != NO_NODE) size[i] += scratch[at] / all;
    }
    return negative;
}

static bool compare(flame *f, arena *a, err *e)
{
    return tree_match(f->t, f->o.before, a, &f->before, e) &&
           tree_match(f->t, f->o.after, a, &f->after, e);
}

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static bool measure(flame *f, arena *a, err *e)
{
    bool both = f->o.before && f->o.after;
    if (both && !compare(f, a, e)) return false;
    size_t n = both ? max_size(f->o.before->n, f->o.after->n) : f->t->n;
    f->size = arena_new(a, double, f->t->n);
    double *scratch = arena_array(a, n, sizeof *scratch);
    if (!f->size || !scratch) return err_memory(e);
    if (!both) {
        f->negative = add_sizes(f->t, NULL, f->t->n, f->size, scratch);
        return true;
    }
    f->negative = add_sizes(f->o.before, f->before, f->t->n, f->size, scratch);
    f->negative |= add_sizes(f->o.after, f->after, f->t->n, f->size, scratch);
    double all = f->size[0] > 0 ? f->size[0] : 1;
    for (size_t i = 0; i < f->t->n; i++) f->size[i] /= all;
    return true;
}

/* ---- groups ---- */

static str group_name(const flame *f, const frame *x)
{
    const frame_table *fs = f->t->frames;
    if (x->flags & FRAME_TAG) return STR("");
    str library = frame_text(fs, x->in_mapping);
    if (f->o.color == FLAME_LIBRARY) return library_of(library);
    return package_at(frame_text(fs, x->name), library, frame_text(fs, x->in_file));
}

static bool intern_groups(flame *f, arena *a, err *e)
{
    const frame_table *fs = f->t->frames;
    hash_index by_name = {0};
    VEC(flame_group) groups = {0};
    f->group_of = arena_array(a, fs->v.n, sizeof *f->group_of);
    if (!f->group_of) return err_memory(e);
    for (size_t i = 0; i < fs->v.n; i++) {
        str name = group_name(f, &fs->v.v[i]);
        if (!hash_index_room(&by_name, a)) return err_memory(e);
        uint64_t h = hash_bytes(name.p, name.n, by_name.seed);
        uint32_t k = hash_first(&by_name, h), at;
        bool found = false;
        for (; !found && hash_next(&by_name, &k, h, &at); k++)
            if ((found = str_eq(groups.v[at].name, name))) f->group_of[i] = at;
        if (found) continue;
        flame_group *g = vec_push(a, &groups);
        if (!g) return err_memory(e);
        *g = (flame_group){.name = name, .hue = palette_hue(name)};
        f->group_of[i] = (uint32_t)(groups.n - 1);
        hash_put(&by_name, k, h, f->group_of[i]);
    }
    f->groups = groups.v;
    f->n_groups = groups.n;
    return true;
}

/* Without a comparison the sums are exact integers, so that ties are recognized: the order of
 * groups decides hues. */
static void add_shares(flame *f)
{
    const tree *t = f->t;
    double all = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        double self = fabs((double)t->self[i]);
        if (f->before) {
            self = f->size[i];
            for (uint32_t k = t->first_child[i]; k; k = t->next_sibling[k]) self -= f->size[k];
        }
        all += self;
        if (i && self > 0) f->groups[f->group_of[t->frame[i]]].share += self;
    }
    for (size_t i = 0; i < f->n_groups && all > 0; i++) f->groups[i].share /= all;
}

typedef struct ranked {
    flame_group g;
    uint32_t was;
} ranked;

static int larger_first(const void *pa, const void *pb)
{
    const ranked *a = pa, *b = pb;
    if (a->g.share != b->g.share) return a->g.share < b->g.share ? 1 : -1;
    return str_cmp(a->g.name, b->g.name);
}

/* A hue is computed from the name, so that it is the same in every picture. Only if two of the
 * largest groups would share a hue, the smaller one gets the next free hue. */
static void separate_hues(flame *f)
{
    unsigned taken = 0;
    for (size_t i = 0, n = 0; i < f->n_groups && n < FLAME_LEGEND; i++) {
        flame_group *g = &f->groups[i];
        if (!g->name.n) continue;
        while (taken >> g->hue & 1) g->hue = palette_next_hue(g->hue);
        taken |= 1u << g->hue;
        n++;
    }
}

static bool rank_groups(flame *f, arena *a, err *e)
{
    ranked *r = arena_array(a, f->n_groups, sizeof *r);
    uint32_t *now = arena_array(a, f->n_groups, sizeof *now);
    if (!r || !now) return err_memory(e);
    for (uint32_t i = 0; i < f->n_groups; i++) r[i] = (ranked){f->groups[i], i};
    if (f->n_groups) qsort(r, f->n_groups, sizeof *r, larger_first);
    for (uint32_t i = 0; i < f->n_groups; i++) f->groups[i] = r[i].g, now[r[i].was] = i;
    for (size_t i = 0; i < f->t->frames->v.n; i++) f->group_of[i] = now[f->group_of[i]];
    separate_hues(f);
    return true;
}

bool flame_of(const tree *t, const flame_opts *o, arena *a, flame *out, err *e)
{
    *out = (flame){.t = t, .o = *o};
    if (!measure(out, a, e) || !intern_groups(out, a, e)) return false;
    add_shares(out);
    return rank_groups(out, a, e);
}

/* ---- texts ---- */

str flame_name(const flame *f, uint32_t node)
{
    return node ? frame_label(f->t->frames, f->t->frame[node]) : STR("all");
}

str flame_place(const flame *f, uint32_t node)
{
    if (!node) return STR("");
    const frame *x = &f->t->frames->v.v[f->t->frame[node]];
    return frame_text(f->t->frames, x->in_file ? x->in_file : x->in_mapping);
}

void share_text(buf *b, double share)
{
    double p = share * 100, size = fabs(p);
    int digits = size >= 99.95 || size < 0.0005 ? 0 : size < 0.0995 ? 2 : 1;
    buf_printf(b, "%.*f %%", digits, p);
}

static double share_of(int64_t v, int64_t all) { return all ? (double)v / fabs((double)all) : 0; }

static int64_t at_node(const tree *t, uint32_t node)
{
    return node == NO_NODE ? 0 : t->total[node];
}

static void side_numbers(const flame *f, const char *word, const tree *t, uint32_t node, buf *b)
{
    char text[HUMAN_MAX];
    int64_t v = at_node(t, node);
    buf_printf(b, "%s %s (", word, human_value(v, f->o.unit, text));
    share_text(b, share_of(v, t->total[0]));
    buf_putc(b, ')');
}

/* Returns the share of one sample in its side; 0: not known. */
static double share_of_size(double size, int64_t all) { return all > 0 ? size / (double)all : 0; }

static double change(const flame *f, uint32_t node, double *before, double *after)
{
    *before = share_of(at_node(f->o.before, f->before[node]), f->o.before->total[0]);
    *after = share_of(at_node(f->o.after, f->after[node]), f->o.after->total[0]);
    return *after - *before;
}

static void compared_numbers(const flame *f, uint32_t node, buf *b)
{
    double before, after, d = change(f, node, &before, &after);
    side_numbers(f, "before", f->o.before, f->before[node], b);
    side_numbers(f, ", after", f->o.after, f->after[node], b);
    if (node) buf_printf(b, ", %+.2f points", d * 100);
}

double flame_change(const flame *f, uint32_t node)
{
    double before, after;
    return change(f, node, &before, &after);
}

void flame_numbers(const flame *f, uint32_t node, buf *b)
{
    if (f->before) {
        compared_numbers(f, node, b);
        return;
    }
    char text[HUMAN_MAX];
    int64_t all = f->t->total[0], self = f->t->self[node];
    buf_z(b, human_value(f->t->total[node], f->o.unit, text));
    if (!node) return;
    buf_z(b, " · ");
    share_text(b, share_of(f->t->total[node], all));
    if (!self) return;
    buf_printf(b, " · self %s", human_value(self, f->o.unit, text));
    if (self == f->t->total[node]) return;
    buf_z(b, " (");
    share_text(b, share_of(self, all));
    buf_putc(b, ')');
}

void flame_shade(const flame *f, uint32_t node, unsigned *hue, unsigned *shade)
{
    *hue = PALETTE_GREY;
    *shade = 0;
    if (!node) return;
    *hue = f->groups[f->group_of[f->t->frame[node]]].hue;
    *shade = palette_shade(flame_name(f, node), hue);
}

int flame_step(const flame *f, uint32_t node)
{
    double before, after;
    if (!node) return 0;
    change(f, node, &before, &after);
    return palette_step(after, before, share_of_size(f->o.after_size, f->o.after->total[0]),
                        share_of_size(f->o.before_size, f->o.before->total[0]));
}

void flame_summary(const flame *f, buf *b)
{
    if (f->o.type.n) {
        buf_str(b, f->o.type);
        buf_z(b, " · ");
    }
    flame_numbers(f, 0, b);
}

/* ---- walk ---- */

bool flame_walk_new(const flame *f, double least, arena *a, flame_walk *out, err *e)
{
    *out = (flame_walk){.f = f, .least = least};
    out->edge = arena_array(a, (size_t)f->t->max_depth + 2, sizeof *out->edge);
    return out->edge ? true : err_memory(e);
}

void flame_walk_rewind(flame_walk *w) { w->begun = false; }

static bool large_enough(const flame_walk *w, uint32_t node)
{
    return w->f->size[node] > 0 && w->f->size[node] >= w->least;
}

/* Moves on from w->node, which is not drawn or whose children are done, to the next sibling of it
 * or of an ancestor. */
static bool walk_on(flame_walk *w)
{
    const tree *t = w->f->t;
    for (;;) {
        if (!w->node) return false;
        w->edge[w->depth] += w->f->size[w->node];
        if (t->next_sibling[w->node]) {
            w->node = t->next_sibling[w->node];
            if (large_enough(w, w->node)) return true;
        } else {
            w->node = t->parent[w->node];
            w->depth--;
        }
    }
}

bool flame_walk_next(flame_walk *w)
{
    const tree *t = w->f->t;
    if (!w->begun) {
        w->begun = true;
        w->node = w->depth = 0;
        w->x = w->edge[0] = 0;
        return large_enough(w, 0);
    }
    if (t->first_child[w->node]) {
        w->edge[w->depth + 1] = w->edge[w->depth];
        w->node = t->first_child[w->node];
        w->depth++;
        if (!large_enough(w, w->node) && !walk_on(w)) return false;
    } else if (!walk_on(w)) {
        return false;
    }
    w->x = w->edge[w->depth];
    return true;
}
