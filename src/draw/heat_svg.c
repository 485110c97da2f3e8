/* Writes a heat map as SVG. All cells of a level are one path, which keeps large maps small. */
#include "draw/heat.h"

#include "draw/human.h"
#include "draw/palette.h"
#include "draw/svg.h"
#include "draw/xml.h"
#include "base/ban.h"

enum { TOP = 84, FOOT = 62, LEFT = 56, CELL = 9, WIDEST_CELL = 20 };

typedef struct drawing {
    const heat *h;
    const heat_opts *o;
    heat_grid g;
    buf *b;
    double width, cell; /* pixels */
} drawing;

static double x_of(const drawing *d, double column) { return LEFT + column * d->cell; }
static double y_of(const drawing *d, uint32_t row)
{
    return TOP + (double)(d->g.rows - 1 - row) * CELL;
}

static void put_style(drawing *d)
{
    buf css = {0};
    for (int dark = 0; dark < 2; dark++) {
        if (dark) buf_z(&css, "@media (prefers-color-scheme: dark) { @media screen {\n");
        for (unsigned k = 0; k < PALETTE_HEAT; k++)
            buf_printf(&css, ".h%u { fill: #%06x }\n", k, palette_heat(k, dark));
    }
    buf_z(&css, "} }\n");
    if (css.failed) d->b->failed = true;
    svg_style(d->b, buf_view(&css));
    buf_free(&css);
}

/* Writes the cells of a level as one path: "M56 84h9v9h-9z" each. */
static void put_level(drawing *d, unsigned level)
{
    char from[HUMAN_MAX], to[HUMAN_MAX];
    double step = (double)d->g.max / (PALETTE_HEAT - 1), gap = d->cell > 4 ? 1 : 0;
    bool begun = false;
    for (uint32_t c = 0; c < d->g.columns; c++) {
        for (uint32_t r = 0; r < d->g.rows; r++) {
            if (heat_level(&d->g, d->g.sum[(size_t)c * d->g.rows + r]) != level) continue;
            if (!begun) buf_printf(d->b, "<path class=\"h%u\" d=\"", level);
            begun = true;
            buf_putc(d->b, 'M');
            xml_number(d->b, x_of(d, c));
            buf_putc(d->b, ' ');
            xml_number(d->b, y_of(d, r));
            buf_putc(d->b, 'h');
            xml_number(d->b, d->cell - gap);
            buf_printf(d->b, "v%d", CELL - 1);
            buf_putc(d->b, 'h');
            xml_number(d->b, gap - d->cell);
            buf_putc(d->b, 'z');
        }
    }
    if (!begun) return;
    human_value((int64_t)(step * (level - 1)), d->o->unit, from);
    human_value((int64_t)(step * level), d->o->unit, to);
    buf_z(d->b, "\"><title>");
    xml_text(d->b, str_of(from));
    buf_z(d->b, " – ");
    xml_text(d->b, str_of(to));
    buf_z(d->b, "</title></path>\n");
}

static void put_label(drawing *d, const char *anchor, double x, double y, const char *text)
{
    buf_printf(d->b, "<text class=\"key\" text-anchor=\"%s\" x=\"", anchor);
    xml_number(d->b, x);
    buf_z(d->b, "\" y=\"");
    xml_number(d->b, y);
    buf_printf(d->b, "\">%s</text>\n", text);
}

static void put_axes(drawing *d)
{
    char text[32];
    double low = TOP + (double)d->g.rows * CELL;
    for (uint32_t k = 0; k < 5; k++) {
        snprintf(text, sizeof text, k == 4 ? "%u s" : "%u ms", k == 4 ? 1 : k * 250);
        put_label(d, "end", LEFT - 8, low - (double)d->g.rows * CELL * k / 4 + 4, text);
    }
    uint64_t tick = heat_tick(&d->g, 56 / d->cell);
    for (uint32_t c = 0; c < d->g.columns; c++) {
        uint64_t s = (uint64_t)c * d->g.per;
        if (s % tick) continue;
        snprintf(text, sizeof text, "%llu s", (unsigned long long)s);
        put_label(d, "start", x_of(d, c), low + 16, text);
    }
}

static void put_head(drawing *d)
{
    char text[HUMAN_MAX * 3], begin[HUMAN_MAX], most[HUMAN_MAX];
    double room = d->width - 2 * SVG_PAD;
    svg_line(d->b, "title", SVG_PAD, 27, d->o->title.n ? d->o->title : STR("heat map"), room * 0.8);
    snprintf(text, sizeof text, "%.*s%s%s", d->o->type.n > 40 ? 40 : (int)d->o->type.n,
             d->o->type.n ? d->o->type.p : "", d->o->type.n ? " · from " : "from ",
             human_moment(&d->o->clock, d->h->start, begin));
    svg_line(d->b, "note", SVG_PAD, 47, str_of(text), room);
    for (unsigned k = 1; k < PALETTE_HEAT; k++)
        buf_printf(d->b, "<rect class=\"h%u\" x=\"%u\" y=\"60\" width=\"12\" height=\"11\"/>\n", k,
                   SVG_PAD + k * 12 - 12);
    snprintf(text, sizeof text, "up to %s in %u ms", human_value(d->g.max, d->o->unit, most),
             (unsigned)(d->h->row_ns / 1000000));
    svg_line(d->b, "key", SVG_PAD + PALETTE_HEAT * 12, 70, str_of(text), room);
}

/* Data for the script: numbers, and the inputs quoted for a shell. */
static void put_data(drawing *d)
{
    buf_z(d->b, "<metadata id=\"cells\">[");
    size_t n = (size_t)d->g.columns * d->g.rows;
    for (size_t i = 0; i < n; i++) {
        if (i) buf_putc(d->b, ',');
        buf_i64(d->b, d->g.sum[i]);
    }
    buf_z(d->b, "]</metadata>\n<metadata id=\"subject\">");
    xml_text(d->b, d->o->subject);
    buf_z(d->b, "</metadata>\n<metadata id=\"unit\">");
    xml_text(d->b, d->o->unit);
    buf_z(d->b, "</metadata>\n");
}

static void put_begin(drawing *d, double height)
{
    char data[256];
    snprintf(
        data, sizeof data,
        " id=\"heat\" data-columns=\"%u\" data-rows=\"%u\" data-per=\"%u\" data-start=\"%llu\" "
        "data-left=\"%d\" data-top=\"%d\" data-cell=\"%.3f\" data-high=\"%d\"",
        d->g.columns, d->g.rows, d->g.per, (unsigned long long)d->h->start, LEFT, TOP, d->cell,
        CELL);
    svg_begin(d->b, d->width, height, data);
    buf_z(d->b, "<title>");
    xml_text(d->b, d->o->title.n ? d->o->title : STR("heat map"));
    buf_z(d->b, "</title>\n");
    put_style(d);
    svg_ground(d->b);
}

bool heat_svg(const heat *h, const heat_opts *o, arena *a, buf *out, err *e)
{
    drawing d = {.h = h, .o = o, .b = out, .width = o->width >= 300 ? (double)o->width : 1200};
    double room = d.width - LEFT - SVG_PAD;
    if (!heat_grid_of(h, (size_t)room, a, &d.g, e)) return false;
    d.cell = d.g.columns ? room / d.g.columns : WIDEST_CELL;
    if (d.cell > WIDEST_CELL) d.cell = WIDEST_CELL;
    double height = TOP + (double)d.g.rows * CELL + FOOT;
    put_begin(&d, height);
    put_head(&d);
    buf_printf(out, "<rect class=\"h0\" x=\"%d\" y=\"%d\" width=\"", LEFT, TOP);
    xml_number(out, d.cell * d.g.columns);
    buf_printf(out, "\" height=\"%u\"/>\n", d.g.rows * CELL);
    for (unsigned k = 1; k < PALETTE_HEAT; k++) put_level(&d, k);
    put_axes(&d);
    put_data(&d);
    svg_end(out, heat_js);
    return out->failed ? err_memory(e) : true;
}
