/* `kiln info`: opens each file and collects what info_text.c and info_json.c print. Only the text
 * form compresses the input to measure its size; JSON omits that because of its cost. */
#include "cli/cli.h"

#include "cli/info.h"
#include "wire/json.h"
#include "base/ban.h"

enum { LONG_WORK = 32 << 20 };

/* Sets *size to the compressed size, or to 0 if compressing would exceed the memory budget. */
static bool measure(codec how, str bytes, const arena *a, size_t *size, err *e)
{
    buf b = {0};
    *size = 0;
    if (a->budget && bytes.n > (a->budget - a->used) / 2) return true;
    bool ok = pack(how, bytes, &b, e);
    *size = b.n;
    buf_free(&b);
    return ok;
}

/* Measures byte shares and compressed sizes, for the text form. */
static bool measure_sizes(cli *c, info *f, err *e)
{
    const document *d = &f->in->doc;
    for (size_t i = 0; i < d->parts.n; i++) {
        const part *p = &d->parts.v[i];
        if (p->payload.kind == PAYLOAD_PROTOBUF && p->verdict.layout != LAYOUT_UNKNOWN &&
            !shares_add(&f->shares, p->payload.bytes, p->verdict.layout, e))
            return false;
    }
    shares_sort(&f->shares);
    if (d->bytes.n > LONG_WORK) cli_status(c, "compressing %s ...", input_name(f->in->path));
    const arena *a = &f->in->arena;
    bool ok = measure(CODEC_GZIP, d->bytes, a, &f->gzip_bytes, e) &&
              measure(CODEC_ZSTD, d->bytes, a, &f->zstd_bytes, e);
    cli_status(c, "%s", "");
    return ok;
}

static bool show(cli *c, const char *path, json_out *as_json)
{
    input in;
    if (!input_open_for(c, path, STORED_SUMS, &in)) return false; /* one profile per series */
    err e = {0};
    info f = {.in = &in};
    profile_facts *facts = NULL;
    bool ok =
        facts_of(&in.doc.model, &in.arena, &facts, &e) && (as_json || measure_sizes(c, &f, &e));
    f.facts = facts;
    if (!ok)
        cli_fail_err(c, path, &e);
    else if (as_json)
        info_json(as_json, &f);
    else
        info_text(c, &f);
    input_close(&in);
    return ok && cli_flush(c);
}

exit_code cmd_info(cli *c)
{
    json_out o = {.b = &c->out, .pretty = true};
    if (c->o.json) cli_open_files(&o);
    bool first = true;
    for (size_t i = 0; i < c->n_args; i++) {
        if (!c->o.json && !first) buf_putc(&c->out, '\n');
        first = !show(c, c->args[i], c->o.json ? &o : NULL) && first;
    }
    if (c->o.json) {
        json_put_array_end(&o);
        json_put_object_end(&o);
        buf_putc(&c->out, '\n');
    }
    return c->worst;
}
