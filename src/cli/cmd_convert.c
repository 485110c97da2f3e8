#include "cli/cli.h"

#include "cli/input.h"
#include "model/merge.h"
#include "wire/json.h"
#include "base/ban.h"
#include <errno.h>

typedef struct conversion {
    cli *c;
    const char *out_path;
    const format *to;
    codec pack;
    input *in;
    size_t n_in;
    ledger ledger; /* of all inputs and the output */
    buf bytes;     /* the output, not yet compressed, when it was encoded */
    str result;    /* bytes, or a view of the input's */
} conversion;

/* ---- what to write ---- */

/* The format that --to, the output's name or, for a pipe, the input says. */
static bool choose_format(conversion *v)
{
    cli *c = v->c;
    str path = str_of(v->out_path);
    v->pack = codec_of_suffix(path);
    if (c->o.to) {
        v->to = format_named(str_of(c->o.to));
        return true;
    }
    v->to = format_for_path(path);
    if (v->to) return true;
    cli_fail(c, EXIT_USAGE,
             "%s: the name does not say which format to write; use .otlp, .json or --to",
             v->out_path);
    return false;
}

/* Nothing to change: same format, same layout, one payload, no wish to rewrite. */
static bool is_copy(const conversion *v)
{
    const cli_options *o = &v->c->o;
    const document *d = &v->in[0].doc;
    if (v->n_in != 1 || d->parts.n != 1 || o->canonical || o->string_refs) return false;
    const part *p = &d->parts.v[0];
    if (p->payload.kind == PAYLOAD_JSON)
        return v->to == &format_otlp_json && p->verdict.layout >= LAYOUT_1_9;
    if (v->to == &format_otlp) return p->verdict.layout == LAYOUT_CURRENT;
    return v->to == &format_otlp_1_9 && p->verdict.layout == LAYOUT_1_9;
}

/* JSON lines stay JSON lines when that is what the output is called. */
static bool is_copy_of_lines(const conversion *v)
{
    const cli_options *o = &v->c->o;
    const document *d = &v->in[0].doc;
    bool lines = str_ends(str_of(v->out_path), STR(".jsonl")) && v->to == &format_otlp_json;
    return lines && v->n_in == 1 && d->framing == FRAMING_JSON && !o->canonical && !o->string_refs;
}

/* ---- how ---- */

static bool merged(conversion *v, arena *a, model *out, err *e)
{
    const model **in = arena_new(a, const model *, v->n_in);
    if (!in) return err_set(e, ERR_LIMIT, "the memory budget is spent");
    for (size_t i = 0; i < v->n_in; i++) in[i] = &v->in[i].doc.model;
    merge_opts o = {.canonical = v->c->o.canonical, .ledger = &v->ledger};
    return model_merge(in, v->n_in, &o, a, out, e);
}

static bool encode(conversion *v, err *e)
{
    model made;
    const model *m = &v->in[0].doc.model;
    if (v->n_in > 1 || v->c->o.canonical) {
        if (!merged(v, &v->in[0].arena, &made, e)) return false;
        m = &made;
    }
    write_opts w = {.string_refs = v->c->o.string_refs, .ledger = &v->ledger};
    if (!v->to->write(v->to, m, &w, &v->bytes, e)) return false;
    v->result = buf_view(&v->bytes);
    return true;
}

static bool produce(conversion *v, err *e)
{
    if (is_copy(v)) {
        v->result = v->in[0].doc.parts.v[0].payload.bytes;
        return true;
    }
    if (is_copy_of_lines(v)) {
        v->result = v->in[0].doc.bytes;
        return true;
    }
    for (size_t i = 0; i < v->n_in; i++) ledger_merge(&v->ledger, &v->in[i].ledger);
    return encode(v, e);
}

static bool deliver(conversion *v, err *e)
{
    buf packed = {0};
    str bytes = v->result;
    bool ok = v->pack == CODEC_NONE || pack(v->pack, bytes, &packed, e);
    if (v->pack != CODEC_NONE) bytes = buf_view(&packed);
    ok = ok && file_write(v->out_path, bytes, e);
    buf_free(&packed);
    return ok;
}

/* ---- what was lost ---- */

static void tell(conversion *v)
{
    cli *c = v->c;
    if (c->o.json) {
        json_out o = {.b = &c->out, .pretty = true};
        json_put_object(&o);
        json_put_key(&o, STR("schema"));
        json_put_i64(&o, 1);
        json_put_key(&o, STR("losses"));
        ledger_json(&o, &v->ledger);
        json_put_object_end(&o);
        buf_putc(&c->out, '\n');
        return;
    }
    if (c->o.quiet || !v->ledger.n) return;
    buf b = {0};
    ledger_text(&b, &v->ledger, c->term_err.color);
    cli_note(c, "%s: what %s could not carry as it was", v->out_path, v->to->name);
    fwrite(b.p, 1, b.n, stderr);
    buf_free(&b);
}

static void convert(conversion *v)
{
    cli *c = v->c;
    err e = {0};
    if (!produce(v, &e)) {
        cli_fail_err(c, v->out_path, &e);
        return;
    }
    tell(v);
    if (c->o.strict && ledger_lost(&v->ledger)) {
        cli_fail(c, EXIT_BAD_INPUT, "%s: not written, because something would be lost (--strict)",
                 v->out_path);
        return;
    }
    if (!deliver(v, &e)) {
        if (e.sys == EPIPE) return;
        cli_fail_err(c, strcmp(v->out_path, "-") ? v->out_path : "standard output", &e);
    }
}

static bool usage(cli *c, conversion *v)
{
    v->n_in = c->n_args;
    v->out_path = c->o.output;
    if (!v->out_path && c->n_args >= 2) v->out_path = c->args[--v->n_in];
    if (!v->out_path) {
        cli_fail(c, EXIT_USAGE, "convert wants an input and an output; for example: %s",
                 c->command->examples[0].line);
        return false;
    }
    if (c->o.json && !strcmp(v->out_path, "-")) {
        cli_fail(c, EXIT_USAGE,
                 "--json prints the ledger on standard output, so the result cannot go there too");
        return false;
    }
    if (!choose_format(v)) return false;
    if (!strcmp(v->out_path, "-") && c->term.tty && v->to != &format_otlp_json) {
        cli_fail(c, EXIT_USAGE, "%s is not text, and standard output is a terminal: redirect it",
                 v->to->name);
        return false;
    }
    return true;
}

exit_code cmd_convert(cli *c)
{
    conversion v = {.c = c};
    if (!usage(c, &v)) return c->worst;
    v.in = calloc(v.n_in, sizeof *v.in);
    if (!v.in) {
        cli_fail(c, EXIT_ENVIRONMENT, "out of memory");
        return c->worst;
    }
    size_t n = 0;
    while (n < v.n_in && input_open(c, c->args[n], &v.in[n])) n++;
    if (n == v.n_in) convert(&v);
    while (n--) input_close(&v.in[n]);
    free(v.in);
    buf_free(&v.bytes);
    return c->worst;
}
