/* `kiln tree`: every frame with its callers and callees. */
#include "cli/graph_out.h"

#include "base/ban.h"

exit_code cmd_tree(cli *c)
{
    enum { SHOWN = 80 }; /* as pprof */
    question q = {0};
    err e = {0};
    flat f;
    edges g;
    flat_opts o = question_flat(c, SHOWN);
    if (!question_open(&q, c, c->args, c->n_args, BY_FUNCTION)) return c->worst;
    if (!flat_of(&q.v, &o, &q.arena, &f, &e) || !edges_of(&q.v, &f, &o, &q.arena, &g, &e))
        question_fail(&q, &e);
    else if (c->o.json)
        graph_json(&q, &f, &g, NULL);
    else
        graph_text(&q, &f, &g, NULL);
    question_close(&q);
    return c->worst;
}
