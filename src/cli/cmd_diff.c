/* `kiln diff`: opens both sides, runs the tests of query/diff.h and query/gate.h, and chooses the
 * exit code. The query (cli/query.h) belongs to the new side. The old side is opened separately and
 * shares its frame table. */
#include "cli/diff_out.h"

#include "base/ban.h"

/* ---- the two sides ---- */

static bool take_paths(cli *c, const option_list *l, const char *one, compared *out)
{
    out->n = l->n ? l->n : 1;
    out->path = calloc(out->n, sizeof *out->path);
    if (!out->path) {
        cli_fail(c, EXIT_ENVIRONMENT, "out of memory");
        return false;
    }
    out->path[0] = one;
    for (size_t i = 0; i < l->n; i++) out->path[i] = l->v[i].p; /* from argv: NUL-terminated */
    return true;
}

/* Takes the files of both sides from BEFORE AFTER, or from --before and --after. */
static bool take_sides(comparison *x, cli *c)
{
    const option_list *b = &c->o.before, *a = &c->o.after;
    bool named = b->n || a->n;
    if (named ? !b->n || !a->n || c->n_args : c->n_args < 2) {
        cli_fail(c, EXIT_USAGE,
                 "diff needs BEFORE AFTER, or --before FILE... --after FILE...; for example: %s",
                 c->command->examples[0].line);
        return false;
    }
    return take_paths(c, b, named ? NULL : c->args[0], &x->before) &&
           take_paths(c, a, named ? NULL : c->args[1], &x->after);
}

static bool open_before(comparison *x, cli *c)
{
    compared *s = &x->before;
    size_t n = s->n;
    s->in = calloc(n, sizeof *s->in);
    if (!s->in) {
        cli_fail(c, EXIT_ENVIRONMENT, "out of memory");
        s->n = 0;
        return false;
    }
    for (s->n = 0; s->n < n; s->n++)
        if (!query_open_input(&x->q, c, s->path[s->n], &s->in[s->n])) return false;
    return true;
}

/* Makes one view per recording. The query already has the view of a single new recording. */
static bool make_views(comparison *x, compared *s, err *e)
{
    arena *a = &x->q.arena;
    s->view = arena_new(a, view, s->n);
    s->v = arena_new(a, recording, s->n);
    if (!s->view || !s->v) return err_memory(e);
    for (size_t i = 0; i < s->n; i++) {
        bool made = s == &x->after && s->n == 1;
        x->at = s->path[i];
        s->v[i].v = made ? &x->q.v : &s->view[i];
        if (made) continue;
        view_init(&s->view[i], &x->q.frames, a);
        if (!query_add_input(&x->q, &s->in[i], &s->view[i], e)) return false;
    }
    return true;
}

static bool divide(comparison *x, compared *s, err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        bool after = s == &x->after;
        per_recording r = {.v = s->v[i].v,
                           .after = after,
                           .at = i + (after ? x->before.n : 0),
                           .n = x->before.n + x->after.n,
                           .literal = x->q.o.literal};
        per_amount amount;
        x->at = s->path[i];
        if (!per_of(&x->per, &r, &amount, e)) return false;
        s->v[i].per = amount.v, s->v[i].per_samples = amount.samples;
    }
    return true;
}

/* ---- gates ---- */

static bool judge_gate(comparison *x, str text, gated *out, err *e)
{
    bool literal = x->q.o.literal, found = false;
    const compared *b = &x->before, *a = &x->after;
    gate_sums s = {0};
    if (!gate_parse(text, &out->g, e) ||
        !gate_sum(&out->g, b->v, b->n, literal, &s.before, &found, e) ||
        !gate_sum(&out->g, a->v, a->n, literal, &s.after, &found, e))
        return false;
    s.missing = !found;
    if (!gate_judge(&out->g, s, &x->d, x->q.v.unit, &out->r, e)) return false;
    const recording *const sides[] = {b->v, a->v};
    return found || x->q.c->o.gate_missing_ok ||
           gate_names_nothing(&out->g, sides, (const size_t[]){b->n, a->n}, e);
}

static bool judge_gates(comparison *x, err *e)
{
    const option_list *l = &x->q.c->o.gates;
    x->at = NULL;
    if (l->n > GATES_MAX) return err_set(e, ERR_USAGE, "more than %d gates", GATES_MAX);
    for (; x->n_gates < l->n; x->n_gates++)
        if (!judge_gate(x, l->v[x->n_gates], &x->gates[x->n_gates], e)) return false;
    return true;
}

/* ---- comparing ---- */

/* Compares the sides. On failure x->at names the recording with the error. */
static bool compare(comparison *x, err *e)
{
    const cli_options *o = &x->q.c->o;
    diff_opts d = {
        .by_cum = o->by_cum,
        .fdr = o->fdr.given ? o->fdr.v : 0,
        .noise = o->noise.given ? o->noise.n : 0,
        .spread = o->spread.given ? o->spread.v : -1,
    };
    x->after.in = x->q.in;
    if (!make_views(x, &x->before, e) || !make_views(x, &x->after, e) ||
        !divide(x, &x->before, e) || !divide(x, &x->after, e))
        return false;
    x->at = x->after.path[0];
    return diff_of(x->before.v, x->before.n, x->after.v, x->after.n, &d, &x->q.arena, &x->d, e) &&
           judge_gates(x, e);
}

/* Reports that the sides have different types, which is allowed if the units are equal. */
static void note_types(comparison *x)
{
    str before = x->before.v[0].v->type, after = x->after.v[0].v->type;
    if (!str_eq(before, after))
        cli_note(
            x->q.c,
            "the two profiles have different types: %.*s and %.*s; choose one with --sample-type",
            STR_ARG(before), STR_ARG(after));
}

static exit_code verdict(const comparison *x)
{
    if (x->q.c->o.fail_on_regression && x->d.untested) {
        cli_fail(x->q.c, EXIT_BAD_INPUT, "a regression cannot be ruled out: %s", x->d.untested);
        return x->q.c->worst;
    }
    for (size_t i = 0; i < x->n_gates; i++)
        if (!x->gates[i].r.passed) return EXIT_GATE;
    return x->q.c->o.fail_on_regression && diff_regressed(&x->d) ? EXIT_GATE : x->q.c->worst;
}

static exit_code compare_and_print(comparison *x, cli *c)
{
    err e = {0};
    if (!compare(x, &e)) {
        cli_fail_err(c, x->at, &e);
        return c->worst;
    }
    note_types(x);
    if (c->o.json)
        diff_json(x);
    else
        diff_text(x);
    return verdict(x);
}

static void close_sides(comparison *x)
{
    while (x->before.in && x->before.n) input_close(&x->before.in[--x->before.n]);
    free(x->before.in);
    free(x->before.path);
    free(x->after.path);
}

static const char *per_text(const cli_options *o)
{
    return o->per ? o->per : o->absolute ? "second" : "run";
}

exit_code cmd_diff(cli *c)
{
    comparison x = {.q = {.apart = true, .schema = 2}};
    err e = {0};
    exit_code code = c->worst;
    if (!per_parse(str_of(per_text(&c->o)), &x.per, &e)) {
        cli_fail_err(c, NULL, &e);
        return c->worst;
    }
    if (take_sides(&x, c) && open_before(&x, c) &&
        query_open(&x.q, c, x.after.path, x.after.n, BY_FUNCTION)) {
        code = compare_and_print(&x, c);
        query_close(&x.q);
    } else {
        code = c->worst;
    }
    close_sides(&x);
    return code;
}
