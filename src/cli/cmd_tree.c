/* `kiln tree`: selects frames; graph_out.c prints each with its callers and callees. */
#include "cli/graph_out.h"

#include "base/ban.h"

exit_code cmd_tree(cli *c)
{
    enum { SHOWN = 80 }; /* pprof's default */
    query q = {0};
    err e = {0};
    flat f;
    edges g;
    flat_opts o = cli_flat_opts(c, SHOWN);
    if (!query_open(&q, c, c->args, c->n_args, BY_FUNCTION)) return c->worst;
    if (!flat_of(&q.v, &o, &q.arena, &f, &e) || !edges_of(&q.v, &f, &o, &q.arena, &g, &e))
        query_fail(&q, &e);
    else if (c->o.json)
        graph_json(&q, &f, &g, NULL);
    else
        graph_text(&q, &f, &g, NULL);
    query_close(&q);
    return c->worst;
}
