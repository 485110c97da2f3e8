/* `kiln peek PATTERN`: finds matching frames; graph_out.c prints their callers and callees. */
#include "cli/graph_out.h"
#include "query/pattern.h"

#include "base/ban.h"

/* Marks rows whose label matches. Fails if none does. */
static bool find(query *q, const flat *f, str text, bool *shown, err *e)
{
    pattern *p;
    size_t n = 0;
    if (!pattern_new(text, q->o.literal, "peek", &q->arena, &p, e)) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < f->n; i++) {
        ok = pattern_match(p, frame_label(f->frames, f->v[i].frame), &shown[i], e);
        n += shown[i];
    }
    pattern_free(p);
    return ok && (n || err_set(e, ERR_USAGE, "no function matches `%.*s`",
                               text.n > 80 ? 80 : (int)text.n, text.p));
}

exit_code cmd_peek(cli *c)
{
    query q = {0};
    err e = {0};
    flat f;
    edges g;
    bool *shown = NULL;
    flat_opts o = {.by_cum = c->o.by_cum && !c->o.by_flat};
    if (!query_open(&q, c, c->args + 1, c->n_args - 1, BY_FUNCTION)) return c->worst;
    bool ok = flat_of(&q.v, &o, &q.arena, &f, &e);
    if (ok) {
        shown = arena_new(&q.arena, bool, f.n + 1);
        ok = shown ? find(&q, &f, str_of(c->args[0]), shown, &e) : err_memory(&e);
    }
    ok = ok && edges_of(&q.v, &f, &o, &q.arena, &g, &e);
    if (!ok)
        query_fail(&q, &e);
    else if (c->o.json)
        graph_json(&q, &f, &g, shown);
    else
        graph_text(&q, &f, &g, shown);
    query_close(&q);
    return c->worst;
}
