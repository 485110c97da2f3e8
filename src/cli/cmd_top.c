/* `kiln top`: prints a table of frames by value. top_out.c prints the text form, which `kiln run`
 * shares. */
#include "cli/query.h"
#include "cli/top_out.h"
#include "wire/json.h"

#include "base/ban.h"

static void put_json(query *q, const flat *f)
{
    json_out o = {.b = &q->c->out, .pretty = true};
    json_put_object(&o);
    query_header_json(q, &o);
    json_put_key(&o, STR("dropped"));
    json_put_u64(&o, f->n_dropped);
    json_put_key(&o, STR("cutoff"));
    json_put_i64(&o, f->cutoff);
    json_put_key(&o, STR("rows"));
    json_put_array(&o);
    for (size_t i = 0; i < f->n; i++) {
        o.flat_at = o.depth + 1; /* one line per row */
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
    query q = {0};
    err e = {0};
    flat f;
    flat_opts o = cli_flat_opts(c, 0);
    if (!query_open(&q, c, c->args, c->n_args, BY_FUNCTION)) return c->worst;
    if (!flat_of(&q.v, &o, &q.arena, &f, &e))
        query_fail(&q, &e);
    else if (c->o.json)
        put_json(&q, &f);
    else
        top_text(&q, &f);
    query_close(&q);
    return c->worst;
}
