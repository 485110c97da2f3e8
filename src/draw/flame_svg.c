/* Writes a flame graph as SVG. The position of the first box depends on the number of rows, so the
 * boxes are walked twice. */
#include "draw/flame_svg.h"

#include "draw/human.h"
#include "draw/palette.h"
#include "draw/svg.h"
#include "draw/xml.h"
#include "base/ban.h"
#include <math.h>

enum { TOP = 84, FOOT = 30, ROW = 18, TEXT_DOWN = 12, TEXT_IN = 4, LEAST_CHARS = 3 };

typedef struct drawing {
    const flame *f;
    flame_svg_opts o;
    buf *b;
    double wide; /* width of the root in pixels */
    uint32_t rows;
    size_t n_drawn;
    buf words; /* scratch for lines of text */
} drawing;

static bool diffs(const drawing *d) { return d->f->o.color == FLAME_DIFF && d->f->before; }

/* ---- style ---- */

static void put_colors(const drawing *d, buf *css, bool dark)
{
    if (diffs(d)) {
        for (int k = -PALETTE_DIFF; k <= PALETTE_DIFF; k++)
            buf_printf(css, ".c%d { fill: #%06x }\n", k + PALETTE_DIFF, palette_diff(k, dark));
        return;
    }
    for (unsigned k = 0; k < PALETTE_BOXES; k++)
        buf_printf(css, ".c%u { fill: #%06x }\n", k,
                   palette_box(k / PALETTE_SHADES, k % PALETTE_SHADES, dark));
}

static void put_style(drawing *d)
{
    buf css = {0};
    put_colors(d, &css, false);
    buf_z(&css, "@media (prefers-color-scheme: dark) { @media screen {\n");
    put_colors(d, &css, true);
    buf_z(&css, "} }\n");
    if (css.failed) d->b->failed = true;
    svg_style(d->b, buf_view(&css));
    buf_free(&css);
}

/* ---- header and bottom line ---- */

static str words(drawing *d)
{
    if (d->words.failed) d->b->failed = true;
    return buf_view(&d->words);
}

static void put_swatch(drawing *d, unsigned color, double x)
{
    buf_printf(d->b, "<rect class=\"c%u\" x=\"", color);
    xml_number(d->b, x);
    buf_z(d->b, "\" y=\"60\" width=\"11\" height=\"11\" rx=\"2\"/>\n");
}

static double key_width(str text) { return (double)text.n * SVG_NAME_MPX / 1000 + 34; }

/* Writes the legend: the largest groups, as many as fit. Long packages are shortened to the last
 * part of the path. */
static void put_groups(drawing *d)
{
    const flame *f = d->f;
    double x = SVG_PAD, end = d->o.width - SVG_PAD;
    for (size_t i = 0; i < f->n_groups && i < FLAME_LEGEND; i++) {
        const flame_group *g = &f->groups[i];
        if (g->share < 0.001) break;
        buf_reset(&d->words);
        buf_str(&d->words, g->name.n ? g->name : STR("unknown"));
        if (d->words.n > 40) d->words.n = 0, buf_str(&d->words, path_base(g->name));
        buf_putc(&d->words, ' ');
        share_text(&d->words, g->share);
        str text = words(d);
        if (x + key_width(text) > end) break;
        put_swatch(d, g->hue * PALETTE_SHADES, x);
        svg_line(d->b, "key", x + 16, 70, text, end);
        x += key_width(text);
    }
}

static void put_steps(drawing *d)
{
    double x = SVG_PAD;
    svg_line(d->b, "key", x, 70, STR("shrank"), d->o.width);
    x += 42;
    for (unsigned k = 0; k <= 2 * PALETTE_DIFF; k++) {
        put_swatch(d, k, x);
        x += 13;
    }
    svg_line(d->b, "key", x + 4, 70,
             STR("grew, as shares of their profiles; grey: within the noise of sampling"),
             d->o.width);
}

/* Writes the header after the boxes in the file, so that it is drawn above them. */
static void put_header(drawing *d)
{
    const flame *f = d->f;
    double room = d->o.width - 2 * SVG_PAD;
    buf_printf(d->b, "<g id=\"head\"><rect class=\"ground\" width=\"100%%\" height=\"%d\"/>\n",
               TOP - 4);
    buf_reset(&d->words);
    buf_str(&d->words, f->o.title.n ? f->o.title : STR("flame graph"));
    if (f->before && f->o.base_title.n) {
        buf_z(&d->words, " compared with ");
        buf_str(&d->words, f->o.base_title);
    }
    svg_line(d->b, "title", SVG_PAD, 27, words(d), (room - 260) * 0.8);
    buf_reset(&d->words);
    flame_summary(f, &d->words);
    if (f->negative) buf_z(&d->words, " · widths are absolute values");
    svg_line(d->b, "note", SVG_PAD, 47, words(d), room - 260);
    if (diffs(d))
        put_steps(d);
    else
        put_groups(d);
    buf_z(d->b, "</g>\n");
}

static void put_foot(drawing *d, double height)
{
    char n[HUMAN_MAX], all[HUMAN_MAX];
    size_t left_out = d->f->t->n - d->n_drawn;
    buf_reset(&d->words);
    buf_printf(&d->words, "%s frames", human_count(d->n_drawn, n));
    if (left_out) {
        buf_printf(&d->words, "; %s narrower than ", human_count(left_out, all));
        xml_number(&d->words, d->o.least);
        buf_z(&d->words, " px not drawn");
    }
    svg_line(d->b, "key", SVG_PAD, height - 11, words(d), d->o.width - 2 * SVG_PAD);
}

/* ---- boxes ---- */

static unsigned color_of(const drawing *d, uint32_t node)
{
    if (diffs(d)) return (unsigned)(flame_step(d->f, node) + PALETTE_DIFF);
    unsigned hue, shade;
    flame_shade(d->f, node, &hue, &shade);
    return hue * PALETTE_SHADES + shade;
}

static void put_title(drawing *d, uint32_t node)
{
    str place = flame_place(d->f, node);
    buf_z(d->b, "<title>");
    xml_text(d->b, flame_name(d->f, node));
    buf_putc(d->b, '\n');
    buf_reset(&d->words);
    flame_numbers(d->f, node, &d->words);
    xml_text(d->b, words(d));
    if (place.n) {
        buf_putc(d->b, '\n');
        xml_text(d->b, place);
    }
    buf_z(d->b, "</title>");
}

/* Leaves a gap between boxes, smaller for narrow ones; flame.js compensates for it. */
static double without_gap(double wide) { return wide > 4 ? wide - 0.8 : wide * 0.8; }

static void put_place(buf *b, const char *element, double x, double y)
{
    buf_z(b, element);
    buf_z(b, " x=\"");
    xml_number(b, x);
    buf_z(b, "\" y=\"");
    xml_number(b, y);
}

static void put_box(drawing *d, const flame_walk *w)
{
    double x = SVG_PAD + w->x * d->wide, wide = d->f->size[w->node] * d->wide;
    uint32_t row = d->o.icicle ? w->depth : d->rows - 1 - w->depth;
    double y = TOP + (double)row * ROW;
    buf_z(d->b, "<g class=\"c");
    buf_u64(d->b, color_of(d, w->node));
    buf_z(d->b, "\">");
    put_title(d, w->node);
    put_place(d->b, "<rect", x, y);
    buf_z(d->b, "\" width=\"");
    xml_number(d->b, without_gap(wide));
    buf_z(d->b, "\" height=\"17\"/>");
    double room = (wide - 2 * TEXT_IN) * 1000 / SVG_CHAR_MPX;
    if (room >= LEAST_CHARS) {
        put_place(d->b, "<text", x + TEXT_IN, y + TEXT_DOWN);
        buf_z(d->b, "\">");
        svg_name(d->b, flame_name(d->f, w->node), (size_t)room);
        buf_z(d->b, "</text>");
    }
    buf_z(d->b, "</g>\n");
}

static void put_begin(drawing *d, double height)
{
    char data[160];
    snprintf(data, sizeof data,
             " id=\"flame\" data-pad=\"%d\" data-top=\"%d\" data-row=\"%d\" data-rows=\"%u\" "
             "data-icicle=\"%d\"",
             SVG_PAD, TOP, ROW, d->rows, d->o.icicle);
    svg_begin(d->b, d->o.width, height, data);
    buf_z(d->b, "<title>");
    xml_text(d->b, d->f->o.title.n ? d->f->o.title : STR("flame graph"));
    buf_z(d->b, "</title>\n");
    put_style(d);
    svg_ground(d->b);
}

/* Counts boxes and rows. */
static void count(drawing *d, flame_walk *w)
{
    d->rows = 1;
    while (flame_walk_next(w)) {
        d->n_drawn++;
        if (w->depth >= d->rows) d->rows = w->depth + 1;
    }
    flame_walk_rewind(w);
}

bool flame_svg(const flame *f, const flame_svg_opts *o, arena *a, buf *out, err *e)
{
    drawing d = {.f = f, .o = *o, .b = out};
    if (!(d.o.width >= 200)) d.o.width = 1200;
    if (!(d.o.least > 0)) d.o.least = 0.1;
    d.wide = d.o.width - 2 * SVG_PAD;
    flame_walk w;
    if (!flame_walk_new(f, d.o.least / d.wide, a, &w, e)) return false;
    count(&d, &w);
    double height = TOP + (double)d.rows * ROW + FOOT;
    put_begin(&d, height);
    buf_z(out, "<g id=\"frames\">\n");
    while (flame_walk_next(&w)) put_box(&d, &w);
    buf_z(out, "</g>\n");
    put_foot(&d, height);
    put_header(&d);
    svg_end(out, flame_js);
    buf_free(&d.words);
    return out->failed ? err_memory(e) : true;
}
