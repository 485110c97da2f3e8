/* `kiln cat`: prints every field of every message without interpreting it.  Text is written as it
 * is produced, so that memory does not grow with the file.  Formats other than OTLP are converted
 * first, because they have no OTLP message. */
#include "cli/cli.h"

#include "cli/input.h"
#include "format/dialects.h"
#include "wire/dump.h"
#include "wire/otlp.h"
#include "wire/otlp_json.h"
#include "base/ban.h"

static bool to_stdout(void *ctx, str text, err *e)
{
    cli *c = ctx;
    buf_str(&c->out, text);
    if (cli_flush(c) && !c->out_closed) return true;
    return err_set(e, ERR_SYS, "standard output was closed");
}

static dump_format wanted(const cli *c)
{
    bool known;
    return c->o.format ? dump_format_from_name(str_of(c->o.format), &known) : DUMP_YAML;
}

/* Separates payloads; JSON has one payload per line. */
static void separator(cli *c, const payload *p)
{
    if (p->index == 0) return;
    switch (wanted(c)) {
    case DUMP_YAML: buf_z(&c->out, "---\n"); break;
    case DUMP_TEXT: buf_z(&c->out, "\n# next payload\n"); break;
    case DUMP_JSON: break;
    }
}

/* Returns the forced or detected layout.  Reports a layout that is not certain. */
static layout layout_of(cli *c, const char *path, str bytes)
{
    if (c->o.layout) return layout_from_name(str_of(c->o.layout));
    if (c->o.from && !strcmp(c->o.from, "otlp-1.9")) return LAYOUT_1_9;
    layout_verdict v;
    layout_detect(bytes.p, bytes.n, &v);
    if (v.confidence == LAYOUT_NONE || v.confidence == LAYOUT_AMBIGUOUS)
        cli_note(
            c, "%s: printed as layout %s, but the layout is not certain: %s (--layout forces one)",
            input_name(path), layout_name(v.layout), v.evidence);
    return v.layout == LAYOUT_UNKNOWN ? LAYOUT_CURRENT : v.layout;
}

static bool dump(cli *c, const char *path, const payload *p, err *e)
{
    dump_opts o = {.format = wanted(c), .write = to_stdout, .ctx = c};
    buf pb = {0}, text = {0};
    str bytes = p->bytes;
    layout l = LAYOUT_UNKNOWN;
    bool ok = true, is_json = p->kind == PAYLOAD_JSON;
    dialect d = is_json || c->o.layout ? DIALECT_NONE : dialect_detect(bytes);
    if (is_json) {
        otlp_json_found found = {0};
        l = c->o.layout ? layout_from_name(str_of(c->o.layout)) : LAYOUT_UNKNOWN;
        ok = otlp_json_to_pb(bytes.p, bytes.n, l, &pb, &found, e);
        bytes = buf_view(&pb);
        l = found.layout;
    } else if (!d) {
        l = layout_of(c, path, bytes);
    }
    separator(c, p);
    ok = ok && (d ? dump_message(bytes.p, bytes.n, dialect_schema(d), &o, &text, e)
                  : dump_pb(bytes.p, bytes.n, l, &o, &text, e));
    buf_str(&c->out, buf_view(&text));
    if (!ok && e->offset != NO_OFFSET && !p->packed) e->offset += p->offset;
    buf_free(&pb);
    buf_free(&text);
    return ok;
}

/* Prints an input of any format in the shape of the example in the arrays draft. */
static void cat_arrays(cli *c, const char *path)
{
    input in;
    err e = {0};
    if (!input_open(c, path, &in)) return;
    if (!arrays_yaml(&in.doc.model, &c->out, &e)) cli_fail_err(c, path, &e);
    cli_flush(c);
    input_close(&in);
}

/* Prints the message that `kiln convert` would write for an input that is not OTLP. */
static void cat_converted(cli *c, const char *path, const format *from)
{
    input in;
    buf pb = {0};
    err e = {0};
    if (!input_open(c, path, &in)) return;
    cli_note(c, "%s: the input is %s; this is the OTLP message that `kiln convert` makes of it",
             input_name(path), from->name);
    payload p = {.kind = PAYLOAD_PROTOBUF};
    bool ok = otlp_encode(&in.doc.model, &(otlp_encode_opts){0}, &pb, &e);
    p.bytes = buf_view(&pb);
    if (!ok || !dump(c, path, &p, &e)) cli_fail_err(c, path, &e);
    cli_flush(c);
    buf_free(&pb);
    input_close(&in);
}

static bool wants_arrays(const cli *c)
{
    return c->o.format && !strcmp(c->o.format, "arrays-yaml");
}

static void cat(cli *c, const char *path)
{
    input in;
    if (wants_arrays(c)) {
        cat_arrays(c, path);
        return;
    }
    if (!input_unpack(c, path, &in) || !input_is_known(c, &in)) return;
    const format *other = dialect_detect(in.doc.bytes) ? NULL : input_other_format(c, &in);
    if (other) {
        input_close(&in);
        cat_converted(c, path, other);
        return;
    }
    err e = {0};
    arena a = arena_beside(&in.arena); /* memory of one payload */
    frames f = frames_of(in.doc.bytes, c->o.max_payload, &a);
    bool ok = true;
    for (payload p; ok && !c->out_closed && frames_next(&f, &p, &e); arena_reset(&a)) {
        if (c->o.from) p.kind = !strcmp(c->o.from, "otlp-json") ? PAYLOAD_JSON : PAYLOAD_PROTOBUF;
        ok = dump(c, path, &p, &e) && cli_flush(c);
    }
    if (e.code && !c->out_closed) {
        cli_flush(c); /* writes the output before the failure */
        cli_fail_err(c, path, &e);
    }
    arena_free(&a);
    input_close(&in);
}

exit_code cmd_cat(cli *c)
{
    c->verbatim = true;
    for (size_t i = 0; i < c->n_args && !c->out_closed; i++) {
        if (i && wanted(c) == DUMP_YAML) buf_z(&c->out, "---\n");
        cat(c, c->args[i]);
    }
    return c->worst;
}
