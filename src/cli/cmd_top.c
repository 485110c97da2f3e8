/* `kiln top`: a table of frames by value. */
#include "cli/question.h"
#include "draw/text.h"
#include "wire/json.h"

#include "base/ban.h"

enum { LEFT = 46 }; /* columns before the name */

static void put_row(question *q, const flat *f, const flat_row *r, int64_t sum, size_t width)
{
    buf *b = &q->c->out;
    char flat_[HUMAN_MAX], cum[HUMAN_MAX], p1[HUMAN_MAX], p2[HUMAN_MAX], p3[HUMAN_MAX];
    const frame *x = &f->frames->v.v[r->frame];
    buf_printf(b, "%11s %s %s %11s %s  ", question_value(q, r->flat, flat_),
               percent_text(r->flat, q->v.total, p1), percent_text(sum, q->v.total, p2),
               question_value(q, r->cum, cum), percent_text(r->cum, q->v.total, p3));
    const char *mark = !(x->flags & FRAME_INLINED) ? ""
                       : x->flags & FRAME_CALLED   ? " (partly inlined)"
                                                   : " (inlined)";
    size_t room = width == SIZE_MAX ? SIZE_MAX : width - LEFT - strlen(mark);
    text_clipped(b, x->label, room);
    buf_printf(b, "%s%s%s\n", paint_on(q->c->term.color, *mark ? PAINT_DIM : PAINT_OFF), mark,
               paint_on(q->c->term.color, PAINT_OFF));
}

static void put_text(question *q, const flat *f)
{
    buf *b = &q->c->out;
    char shown[HUMAN_MAX], cut[HUMAN_MAX];
    int64_t sum = 0;
    for (size_t i = 0; i < f->n; i++) sum = add_saturating(sum, f->v[i].flat, NULL);
    question_head(q, b);
    if (f->n_dropped || f->n < f->n_all) {
        buf_printf(b, "%sshowing %s in %zu of %zu frames", paint_on(q->c->term.color, PAINT_DIM),
                   question_value(q, sum, shown), f->n, f->n_all + f->n_dropped);
        if (f->n_dropped)
            buf_printf(b, "; %zu below %s left out (--nodefraction)", f->n_dropped,
                       question_value(q, f->cutoff, cut));
        buf_printf(b, "%s\n", paint_on(q->c->term.color, PAINT_OFF));
    }
    buf_printf(b, "%11s %5s%% %5s%% %11s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
    sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        sum = add_saturating(sum, f->v[i].flat, NULL);
        put_row(q, f, &f->v[i], sum, question_width(q->c));
    }
}

static void put_json(question *q, const flat *f)
{
    json_out o = {.b = &q->c->out, .pretty = true};
    json_put_object(&o);
    question_head_json(q, &o);
    json_put_key(&o, STR("dropped"));
    json_put_u64(&o, f->n_dropped);
    json_put_key(&o, STR("cutoff"));
    json_put_i64(&o, f->cutoff);
    json_put_key(&o, STR("rows"));
    json_put_array(&o);
    for (size_t i = 0; i < f->n; i++) {
        o.flat_at = o.depth + 1; /* a row is a line */
        json_put_object(&o);
        json_put_key(&o, STR("flat"));
        json_put_i64(&o, f->v[i].flat);
        json_put_key(&o, STR("cum"));
        json_put_i64(&o, f->v[i].cum);
        frame_json(&o, f->frames, f->v[i].frame);
        json_put_object_end(&o);
    }
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(&q->c->out, '\n');
}

exit_code cmd_top(cli *c)
{
    question q = {0};
    err e = {0};
    flat f;
    flat_opts o = question_flat(c, 0);
    if (!question_open(&q, c, c->args, c->n_args, BY_FUNCTION)) return c->worst;
    if (!flat_of(&q.v, &o, &q.arena, &f, &e))
        question_fail(&q, &e);
    else if (c->o.json)
        put_json(&q, &f);
    else
        put_text(&q, &f);
    question_close(&q);
    return c->worst;
}
