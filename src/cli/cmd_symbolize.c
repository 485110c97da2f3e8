/* `kiln symbolize`: adds names to the addresses of a profile and reports the result for each
 * binary. */
#include "cli/cli.h"

#include "cli/input.h"
#include "cli/output.h"
#include "cli/symbols.h"
#include "draw/human.h"
#include "model/executable.h"
#include "model/merge.h"
#include "symbol/symbolize.h"
#include "wire/json.h"
#include "base/ban.h"

enum { SHOWN = 20 }; /* binaries in the text report */

typedef struct symbolizing {
    cli *c;
    output out;
    input in;
    ledger ledger;
    symbolize_report report;
    buf bytes;
} symbolizing;

/* ---- text ---- */

/* Sorts by number of addresses, descending; ties in order of appearance. */
static int by_weight(const void *x, const void *y)
{
    const symbolized *const *a = x, *const *b = y;
    if ((*a)->n_locations != (*b)->n_locations)
        return (*a)->n_locations > (*b)->n_locations ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

static void put_binary(buf *b, const symbolized *s, bool color)
{
    char found[HUMAN_MAX], all[HUMAN_MAX];
    bool good = s->n_found == s->n_locations;
    const char *advice = symbolize_advice(s);
    buf_printf(b, "  %s%-13s%s %8s of %s  %.*s", paint_on(color, good ? PAINT_GREEN : PAINT_YELLOW),
               symbols_state(s->state), paint_on(color, PAINT_OFF), human_count(s->n_found, found),
               human_count(s->n_locations, all), STR_ARG(s->name));
    buf_z(b, s->trusted ? " (found by name: the profile has no build id)\n" : "\n");
    if (advice)
        buf_printf(b, "    %s%s%s\n", paint_on(color, PAINT_DIM), advice,
                   paint_on(color, PAINT_OFF));
}

static void print_text(symbolizing *y)
{
    cli *c = y->c;
    const symbolize_report *r = &y->report;
    char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];
    buf t = {0};
    const symbolized **order = arena_array(&y->in.arena, r->v.n + 1, sizeof(symbolized *));
    if (c->o.quiet || !order) return;
    for (size_t i = 0; i < r->v.n; i++) order[i] = &r->v.v[i];
    if (r->v.n) qsort(order, r->v.n, sizeof(symbolized *), by_weight);
    cli_note(c, "%s: found %s of %s addresses; %s already had names", y->out.path,
             human_count(r->n_found, a), human_count(r->n_locations, b),
             human_count(r->n_already, d));
    for (size_t i = 0; i < r->v.n && i < SHOWN; i++) put_binary(&t, order[i], c->term_err.color);
    if (r->v.n > SHOWN) buf_printf(&t, "  and %zu more (--json lists them)\n", r->v.n - SHOWN);
    fwrite(t.p, 1, t.n, stderr);
    buf_free(&t);
}

/* ---- JSON ---- */

static void put_str(json_out *o, str key, str value)
{
    json_put_key(o, key);
    if (value.n)
        json_put_str(o, value);
    else
        json_put_null(o);
}

static void put_number(json_out *o, str key, uint64_t v)
{
    json_put_key(o, key);
    json_put_i64(o, (int64_t)v);
}

static void put_bool(json_out *o, str key, bool v)
{
    json_put_key(o, key);
    json_put_bool(o, v);
}

static void put_entry(json_out *o, const symbolized *s)
{
    json_put_object(o);
    put_str(o, STR("name"), s->name);
    put_str(o, STR("build_id"), s->build_id);
    put_str(o, STR("state"), str_of(module_state_name(s->state)));
    put_str(o, STR("file"), s->path);
    put_str(o, STR("debug_file"), s->debug_path);
    put_number(o, STR("locations"), s->n_locations);
    put_number(o, STR("found"), s->n_found);
    put_number(o, STR("inlined"), s->n_inlined);
    put_bool(o, STR("verified"), s->verified);
    put_bool(o, STR("cached"), s->cached);
    put_str(o, STR("advice"), str_of(symbolize_advice(s)));
    json_put_object_end(o);
}

static void print_json(symbolizing *y)
{
    const symbolize_report *r = &y->report;
    json_out o = {.b = &y->c->out, .pretty = true};
    json_put_object(&o);
    put_number(&o, STR("schema"), 1);
    put_number(&o, STR("locations"), r->n_locations);
    put_number(&o, STR("found"), r->n_found);
    put_number(&o, STR("already"), r->n_already);
    json_put_key(&o, STR("binaries"));
    json_put_array(&o);
    for (size_t i = 0; i < r->v.n; i++) put_entry(&o, &r->v.v[i]);
    json_put_array_end(&o);
    json_put_key(&o, STR("losses"));
    ledger_json(&o, &y->ledger);
    json_put_object_end(&o);
    buf_putc(&y->c->out, '\n');
}

/* ---- symbolizing ---- */

static bool convert(symbolizing *y, err *e)
{
    cli *c = y->c;
    arena *a = &y->in.arena;
    model *m = &y->in.doc.model;
    symbolize_opts o;
    if (!symbols_wanted(c, a, &o, e) || !symbolize(m, &o, a, &y->report, e)) return false;
    model tidy; /* without the entries that --force leaves unused */
    if (c->o.force) {
        if (!model_gc(m, a, &tidy, e)) return false;
        *m = tidy;
    }
    model_executables_first(m);
    ledger_merge(&y->ledger, &y->in.ledger);
    write_opts w = {.title = input_title(c->args[0]), .ledger = &y->ledger};
    return y->out.to->write(y->out.to, m, &w, &y->bytes, e);
}

static void run(symbolizing *y)
{
    cli *c = y->c;
    err e = {0};
    bool ok = convert(y, &e);
    cli_status(c, "%s", "");
    if (!ok) {
        cli_fail_err(c, y->out.path, &e);
        return;
    }
    if (c->o.json)
        print_json(y);
    else
        print_text(y), output_losses(c, &y->out, &y->ledger);
    if (c->o.strict && y->report.n_found < y->report.n_locations)
        cli_fail(c, EXIT_BAD_INPUT,
                 "%s: not written, because some addresses have no name (--strict)", y->out.path);
    else if (!output_write(&y->out, buf_view(&y->bytes), &e))
        output_fail(c, &y->out, &e);
}

exit_code cmd_symbolize(cli *c)
{
    symbolizing y = {.c = c};
    const char *path = c->o.output ? c->o.output : c->n_args == 2 ? c->args[1] : NULL;
    if (!path || c->n_args > (c->o.output ? 1 : 2)) {
        cli_fail(c, EXIT_USAGE, "symbolize needs an input and an output; for example: %s",
                 c->command->examples[0].line);
        return c->worst;
    }
    if (output_is_taken(c, path, "report") || !output_choose(c, path, &y.out) ||
        output_is_shown(c, &y.out) || !input_open(c, c->args[0], &y.in))
        return c->worst;
    run(&y);
    input_close(&y.in);
    buf_free(&y.bytes);
    return c->worst;
}
