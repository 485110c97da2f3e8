/* Writes a flame graph to a terminal. Boxes are rounded to cells first and then sorted by row,
 * because a terminal is written row by row. */
#include "draw/flame_term.h"

#include "draw/human.h"
#include "draw/label.h"
#include "draw/palette.h"
#include "draw/text.h"
#include "base/ban.h"

enum { INK_TEXT = 0x1c1e21, LEAST_WIDTH = 20 };

typedef struct cells {
    uint32_t node, depth;
    size_t from, to; /* columns [from, to) */
} cells;

typedef struct drawing {
    const flame *f;
    flame_term_opts o;
    buf *b;
    VEC(cells) boxes; /* in order of the walk: from left to right within a depth */
    cells *row;       /* the boxes sorted by depth */
    size_t *first;    /* by depth: row[first[d] .. first[d + 1]) */
    size_t n_rows;
    buf words;
} drawing;

/* ---- boxes by row ---- */

static bool collect(drawing *d, arena *a, err *e)
{
    flame_walk w;
    double wide = (double)d->o.width;
    if (!flame_walk_new(d->f, 0.5 / wide, a, &w, e)) return false;
    while (flame_walk_next(&w)) {
        size_t from = (size_t)(w.x * wide + 0.5),
               to = (size_t)((w.x + d->f->size[w.node]) * wide + 0.5);
        if (to > d->o.width) to = d->o.width;
        if (from >= to) continue;
        cells *c = vec_push(a, &d->boxes);
        if (!c) return err_memory(e);
        *c = (cells){w.node, w.depth, from, to};
        if (w.depth >= d->n_rows) d->n_rows = (size_t)w.depth + 1;
    }
    return true;
}

/* Sorts the boxes by depth with a counting sort, which keeps the order from left to right. */
static bool sort_rows(drawing *d, arena *a, err *e)
{
    d->first = arena_new(a, size_t, d->n_rows + 2);
    d->row = arena_array(a, d->boxes.n, sizeof *d->row);
    if (!d->first || !d->row) return err_memory(e);
    for (size_t i = 0; i < d->boxes.n; i++) d->first[d->boxes.v[i].depth + 2]++;
    for (size_t k = 2; k < d->n_rows + 2; k++) d->first[k] += d->first[k - 1];
    for (size_t i = 0; i < d->boxes.n; i++)
        d->row[d->first[d->boxes.v[i].depth + 1]++] = d->boxes.v[i];
    return true;
}

/* ---- a box ---- */

static bool diffs(const drawing *d) { return d->f->o.color == FLAME_DIFF && d->f->before; }

static uint32_t color_of(const drawing *d, uint32_t node, bool dark)
{
    if (diffs(d)) return palette_diff(flame_step(d->f, node), dark);
    unsigned hue, shade;
    flame_shade(d->f, node, &hue, &shade);
    return palette_box(hue, shade, dark);
}

/* Returns the text after the name, if it fits: the value of the root, a share, or a change. */
static str figure(drawing *d, uint32_t node)
{
    buf_reset(&d->words);
    if (d->f->before && node) {
        buf_printf(&d->words, "%+.1f", flame_change(d->f, node) * 100);
    } else if (node) {
        share_text(&d->words, d->f->size[node]);
    } else {
        flame_numbers(d->f, 0, &d->words);
    }
    if (d->words.failed) d->b->failed = true;
    return buf_view(&d->words);
}

static void put_label(drawing *d, uint32_t node, size_t room)
{
    str whole = flame_name(d->f, node), more = figure(d, node);
    str name = text_columns(whole) > room ? name_short(whole) : whole;
    size_t used = text_columns(name), needed = text_columns(more);
    if (!more.n || used + 1 + needed > room) {
        size_t n = name_cut(d->b, whole, room);
        text_repeat(d->b, " ", room - n);
        return;
    }
    text_clipped(d->b, name, used);
    term_color_front(d->b, d->o.term_color, color_of(d, node, true));
    buf_putc(d->b, ' ');
    text_padded(d->b, more, room - used - 1);
}

static void put_box(drawing *d, const cells *c)
{
    term_color_ground(d->b, d->o.term_color, color_of(d, c->node, false));
    if (d->o.term_color == TERM_COLOR_NONE) {
        buf_z(d->b, "│");
    } else {
        term_color_front(d->b, d->o.term_color, color_of(d, c->node, true));
        buf_z(d->b, "▏");
    }
    term_color_front(d->b, d->o.term_color, INK_TEXT);
    size_t room = c->to - c->from - 1;
    if (room >= 2)
        put_label(d, c->node, room);
    else
        text_repeat(d->b, " ", room);
    term_color_off(d->b, d->o.term_color);
}

static void put_row(drawing *d, size_t depth)
{
    size_t at = 0;
    for (size_t i = d->first[depth]; i < d->first[depth + 1]; i++) {
        const cells *c = &d->row[i];
        /* Without colour, a box without a right neighbour needs a right edge. */
        if (c->from > at && at && d->o.term_color == TERM_COLOR_NONE) buf_z(d->b, "│"), at++;
        if (c->from > at) text_repeat(d->b, " ", c->from - at);
        put_box(d, c);
        at = c->to;
    }
    if (d->o.term_color == TERM_COLOR_NONE && at < d->o.width) buf_z(d->b, "│");
    while (d->o.term_color == TERM_COLOR_NONE && d->b->n && d->b->p[d->b->n - 1] == ' ') d->b->n--;
    buf_putc(d->b, '\n');
}

/* ---- below the rows ---- */

static void put_swatch(drawing *d, uint32_t rgb, size_t n)
{
    term_color_ground(d->b, d->o.term_color, rgb);
    text_repeat(d->b, " ", n);
    term_color_off(d->b, d->o.term_color);
}

static void put_steps(drawing *d)
{
    buf_z(d->b, "shrank ");
    for (int k = -PALETTE_DIFF; k <= PALETTE_DIFF; k++) put_swatch(d, palette_diff(k, false), 2);
    buf_z(d->b, " grew; grey: within noise; numbers are percentage points\n");
}

static void put_groups(drawing *d)
{
    size_t used = 0;
    for (size_t i = 0; i < d->f->n_groups && i < FLAME_LEGEND; i++) {
        const flame_group *g = &d->f->groups[i];
        buf_reset(&d->words);
        buf_str(&d->words, !g->name.n       ? STR("unknown")
                           : g->name.n > 30 ? path_base(g->name)
                                            : g->name);
        buf_putc(&d->words, ' ');
        share_text(&d->words, g->share);
        size_t needed = text_columns(buf_view(&d->words)) + 5;
        if (g->share < 0.001 || used + needed > d->o.width) break;
        put_swatch(d, palette_box(g->hue, 0, false), 2);
        buf_putc(d->b, ' ');
        text_clipped(d->b, buf_view(&d->words), needed);
        buf_z(d->b, "  ");
        used += needed;
    }
    if (used) buf_putc(d->b, '\n');
}

static void put_foot(drawing *d)
{
    char n[HUMAN_MAX];
    size_t left_out = d->f->t->n - d->boxes.n;
    if (d->o.term_color != TERM_COLOR_NONE) {
        if (diffs(d))
            put_steps(d);
        else
            put_groups(d);
    }
    if (left_out)
        buf_printf(d->b, "%s frame%s narrower than a column not drawn\n", human_count(left_out, n),
                   left_out == 1 ? "" : "s");
}

bool flame_term(const flame *f, const flame_term_opts *o, arena *a, buf *out, err *e)
{
    drawing d = {.f = f, .o = *o, .b = out};
    if (!d.o.width) d.o.width = 80;
    if (d.o.width < LEAST_WIDTH) d.o.width = LEAST_WIDTH;
    if (!collect(&d, a, e) || !sort_rows(&d, a, e)) return false;
    for (size_t k = 0; k < d.n_rows; k++) put_row(&d, k);
    put_foot(&d);
    buf_free(&d.words);
    return out->failed ? err_memory(e) : true;
}
