/* Writes a series as SVG bars. */
#include "draw/series_svg.h"

#include "draw/human.h"
#include "draw/palette.h"
#include "draw/svg.h"
#include "draw/xml.h"
#include "base/ban.h"

enum { TOP = 70, HIGH = 240, FOOT = 36, LEFT = 84, WIDEST = 40 };

typedef struct drawing {
    const series *s;
    const series_opts *o;
    buf *b;
    double width, bar;
    size_t per, n; /* buckets per bar, number of bars */
    int64_t max;
} drawing;

/* Levels are not added up: the newest one of a bar counts. */
static int64_t bar_sum(const drawing *d, size_t i)
{
    int64_t sum = 0;
    bool level = human_is_level(d->o->type);
    for (size_t k = i * d->per; k < (i + 1) * d->per && k < d->s->n; k++)
        if (level)
            sum = d->s->sum[k];
        else if (ckd_add(&sum, sum, d->s->sum[k]))
            return INT64_MAX;
    return sum;
}

/* Formats the height of a bar. The axis shows rates, so it does not depend on the step; bars of
 * whole profiles have no common length and show their sums. */
static const char *height_text(const drawing *d, double v, char out[HUMAN_MAX])
{
    return human_rate(v, d->s->step * d->per, d->o->type, d->o->unit, out);
}

static void put_head(drawing *d)
{
    char step[HUMAN_MAX], text[160];
    double room = d->width - 2 * SVG_PAD;
    svg_line(d->b, "title", SVG_PAD, 27, d->o->title.n ? d->o->title : STR("series"), room * 0.8);
    int n = snprintf(text, sizeof text, "%.*s", d->o->type.n > 60 ? 60 : (int)d->o->type.n,
                     d->o->type.n ? d->o->type.p : "");
    if (d->s->step)
        snprintf(text + n, sizeof text - (size_t)n, "%seach bar is %s", n ? " · " : "",
                 human_duration(d->s->step * d->per, step));
    svg_line(d->b, "note", SVG_PAD, 47, str_of(text), room);
}

static void put_scale(drawing *d)
{
    char value[HUMAN_MAX];
    for (int k = 0; k <= 4; k++) {
        int y = TOP + HIGH - HIGH * k / 4;
        buf_printf(d->b, "<path class=\"rule\" d=\"M%d %d.5H", LEFT, y);
        xml_number(d->b, d->width - SVG_PAD);
        buf_printf(d->b, "\"/>\n<text class=\"key\" text-anchor=\"end\" x=\"%d\" y=\"%d\">",
                   LEFT - 8, y + 4);
        xml_text(d->b, str_of(height_text(d, (double)d->max / 4 * k, value)));
        buf_z(d->b, "</text>\n");
    }
}

static void put_bar(drawing *d, size_t i)
{
    char when[HUMAN_MAX], value[HUMAN_MAX];
    int64_t sum = bar_sum(d, i);
    if (sum <= 0) return;
    double high = (double)sum / (double)d->max * HIGH;
    buf_z(d->b, "<rect class=\"bar\" x=\"");
    xml_number(d->b, LEFT + (double)i * d->bar);
    buf_z(d->b, "\" y=\"");
    xml_number(d->b, TOP + HIGH - high);
    buf_z(d->b, "\" width=\"");
    xml_number(d->b, d->bar > 3 ? d->bar - 1 : d->bar);
    buf_z(d->b, "\" height=\"");
    xml_number(d->b, high);
    buf_printf(d->b, "\"><title>%s\n", human_moment(&d->o->clock, d->s->time[i * d->per], when));
    xml_text(d->b, str_of(human_value(sum, d->o->unit, value)));
    if (d->s->step && !human_is_level(d->o->type)) {
        buf_z(d->b, " · ");
        xml_text(d->b, str_of(height_text(d, (double)sum, value)));
    }
    buf_z(d->b, "</title></rect>\n");
}

static void put_times(drawing *d)
{
    char when[HUMAN_MAX];
    if (!d->n) return;
    int y = TOP + HIGH + 20;
    buf_printf(d->b, "<text class=\"key\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT, y,
               human_moment(&d->o->clock, d->s->time[0], when));
    if (d->n < 2 || d->bar * (double)d->n < 420) return;
    buf_z(d->b, "<text class=\"key\" text-anchor=\"end\" x=\"");
    xml_number(d->b, LEFT + d->bar * (double)d->n);
    buf_printf(d->b, "\" y=\"%d\">%s</text>\n", y,
               human_moment(&d->o->clock, d->s->time[d->s->n - 1], when));
}

bool series_svg(const series *s, const series_opts *o, buf *out, err *e)
{
    drawing d = {
        .s = s, .o = o, .b = out, .width = o->width >= 300 ? (double)o->width : 1200, .per = 1};
    double room = d.width - LEFT - SVG_PAD;
    if (s->n > (size_t)room) d.per = (s->n + (size_t)room - 1) / (size_t)room;
    d.n = (s->n + d.per - 1) / d.per;
    d.bar = d.n ? room / (double)d.n : WIDEST;
    if (d.bar > WIDEST) d.bar = WIDEST;
    for (size_t i = 0; i < d.n; i++)
        if (bar_sum(&d, i) > d.max) d.max = bar_sum(&d, i);
    if (!d.max) d.max = 1;
    svg_begin(out, d.width, TOP + HIGH + FOOT, " id=\"series\"");
    buf_z(out, "<title>");
    xml_text(out, o->title.n ? o->title : STR("series"));
    buf_z(out, "</title>\n");
    svg_style(out, STR(""));
    svg_ground(out);
    put_head(&d);
    put_scale(&d);
    for (size_t i = 0; i < d.n; i++) put_bar(&d, i);
    put_times(&d);
    svg_end(out, STR(""));
    return out->failed ? err_memory(e) : true;
}
