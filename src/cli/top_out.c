/* Prints the table of `kiln top`, also for `kiln run`. */
#include "cli/top_out.h"

#include "draw/text.h"
#include "base/ban.h"

/* Columns before the name, normally and on narrow terminals; NARROW is the width below which only
 * shares are shown. */
enum { LEFT = 46, LEFT_NARROW = 15, NARROW = 66 };

static void put_numbers(query *q, const flat_row *r, int64_t sum, size_t width)
{
    buf *b = &q->c->out;
    char flat_[HUMAN_MAX], cum[HUMAN_MAX], p1[HUMAN_MAX], p2[HUMAN_MAX], p3[HUMAN_MAX];
    percent_text(r->flat, q->v.total, p1), percent_text(r->cum, q->v.total, p3);
    if (width < NARROW)
        buf_printf(b, "%s %s  ", p1, p3);
    else
        buf_printf(b, "%11s %s %s %11s %s  ", query_value(q, r->flat, flat_), p1,
                   percent_text(sum, q->v.total, p2), query_value(q, r->cum, cum), p3);
}

static void put_row(query *q, const flat *f, const flat_row *r, int64_t sum, size_t width)
{
    buf *b = &q->c->out;
    const frame *x = &f->frames->v.v[r->frame];
    put_numbers(q, r, sum, width);
    const char *mark = !(x->flags & FRAME_INLINED) ? ""
                       : x->flags & FRAME_CALLED   ? " (partly inlined)"
                                                   : " (inlined)";
    size_t left = width < NARROW ? LEFT_NARROW : LEFT;
    if (width < NARROW) mark = "";
    size_t room = width == SIZE_MAX ? SIZE_MAX : width - left - strlen(mark);
    text_clipped(b, x->label, room);
    buf_printf(b, "%s%s%s\n", paint_on(q->c->term.color, *mark ? PAINT_DIM : PAINT_OFF), mark,
               paint_on(q->c->term.color, PAINT_OFF));
}

void top_text(query *q, const flat *f)
{
    buf *b = &q->c->out;
    char shown[HUMAN_MAX], cut[HUMAN_MAX];
    int64_t sum = 0;
    for (size_t i = 0; i < f->n; i++) sum = add_saturating(sum, f->v[i].flat, NULL);
    query_header(q, b);
    if (f->n_dropped || f->n < f->n_all) {
        buf_printf(b, "%sshowing %s in %zu of %zu frames", paint_on(q->c->term.color, PAINT_DIM),
                   query_value(q, sum, shown), f->n, f->n_all + f->n_dropped);
        if (f->n_dropped)
            buf_printf(b, "; %zu below %s omitted (--nodefraction)", f->n_dropped,
                       query_value(q, f->cutoff, cut));
        buf_printf(b, "%s\n", paint_on(q->c->term.color, PAINT_OFF));
    }
    if (cli_width(q->c) < NARROW)
        buf_printf(b, "%5s%% %5s%%\n", "flat", "cum");
    else
        buf_printf(b, "%11s %5s%% %5s%% %11s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
    sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        sum = add_saturating(sum, f->v[i].flat, NULL);
        put_row(q, f, &f->v[i], sum, cli_width(q->c));
    }
}
