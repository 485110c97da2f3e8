/* `kiln diff`: what changed between two profiles beyond sampling noise, and gates for CI. */
#include "cli/diff_out.h"

#include "base/ban.h"

static bool judge_gate(comparison *x, str text, gated *out, err *e)
{
    bool literal = x->q.o.literal;
    gate_sums s = {.before_all = (double)x->before.sum, .after_all = (double)x->q.v.sum};
    return gate_parse(text, &out->g, e) && gate_sum(&out->g, &x->before, literal, &s.before, e) &&
           gate_sum(&out->g, &x->q.v, literal, &s.after, e) &&
           gate_judge(&out->g, s, x->q.v.unit, x->d.samples_before, x->d.samples_after, &out->r, e);
}

static bool judge_gates(comparison *x, err *e)
{
    const option_list *l = &x->q.c->o.gates;
    if (l->n > GATES_MAX) return err_set(e, ERR_USAGE, "more than %d gates", GATES_MAX);
    for (; x->n_gates < l->n; x->n_gates++)
        if (!judge_gate(x, l->v[x->n_gates], &x->gates[x->n_gates], e)) return false;
    return true;
}

static bool compare(comparison *x, err *e)
{
    const cli_options *o = &x->q.c->o;
    diff_opts d = {
        .absolute = o->absolute,
        .by_cum = o->by_cum,
        .fdr = o->fdr.given ? o->fdr.v : 0,
        .noise = o->noise.given ? o->noise.n : 0,
    };
    view_init(&x->before, &x->q.frames, &x->q.arena);
    select_opts chosen = question_select(&x->q, &x->base);
    return view_add(&x->before, &x->base.doc.model, &chosen, 1, e) &&
           diff_of(&x->before, &x->q.v, &d, &x->q.arena, &x->d, e) && judge_gates(x, e);
}

static exit_code verdict(const comparison *x)
{
    for (size_t i = 0; i < x->n_gates; i++)
        if (!x->gates[i].r.passed) return EXIT_GATE;
    return x->q.c->o.fail_on_regression && x->d.n_grew ? EXIT_GATE : x->q.c->worst;
}

exit_code cmd_diff(cli *c)
{
    comparison x = {0};
    err e = {0};
    exit_code code;
    if (!question_input(&x.q, c, c->args[0], &x.base)) return c->worst;
    if (!question_open(&x.q, c, c->args + 1, c->n_args - 1, BY_FUNCTION)) {
        input_close(&x.base);
        return c->worst;
    }
    if (!compare(&x, &e)) {
        question_fail(&x.q, &e);
        code = c->worst;
    } else {
        if (c->o.json)
            diff_json(&x);
        else
            diff_text(&x);
        code = verdict(&x);
    }
    question_close(&x.q);
    input_close(&x.base);
    return code;
}
