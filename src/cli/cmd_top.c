/* `kiln top`: a table of frames by value. */
#include "cli/question.h"
#include "cli/top_out.h"
#include "wire/json.h"

#include "base/ban.h"

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
        top_text(&q, &f);
    question_close(&q);
    return c->worst;
}
