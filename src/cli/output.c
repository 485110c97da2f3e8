/* Chooses the format and the compression of an output by --to and its name, and writes it. */
#include "cli/output.h"

#include "cli/input.h"
#include "sys/file.h"
#include "base/ban.h"
#include <errno.h>

bool output_choose(cli *c, const char *path, output *out)
{
    *out = (output){.path = path, .pack = codec_of_suffix(str_of(path))};
    out->to = c->o.to ? format_named(str_of(c->o.to)) : format_for_path(str_of(path));
    if (out->to) return true;
    cli_fail(c, EXIT_USAGE,
             "%s: the name does not imply a format; use --to (`kiln formats` lists the formats)",
             path);
    return false;
}

bool output_is_shown(cli *c, const output *o)
{
    bool text = o->to->text && o->pack == CODEC_NONE;
    if (strcmp(o->path, "-") || !c->term.tty || text) return false;
    cli_fail(c, EXIT_USAGE, "%s is a binary format and standard output is a terminal; redirect it",
             o->to->name);
    return true;
}

bool output_is_taken(cli *c, const char *path, const char *what)
{
    if (!c->o.json || strcmp(path, "-")) return false;
    cli_fail(c, EXIT_USAGE, "--json prints the %s to standard output, so the output must be a file",
             what);
    return true;
}

bool output_write(const output *o, str bytes, err *e)
{
    buf packed = {0};
    codec c = o->pack != CODEC_NONE ? o->pack : o->to->pack;
    bool ok = c == CODEC_NONE ||
              (o->quick ? pack_quick(c, bytes, &packed, e) : pack(c, bytes, &packed, e));
    if (c != CODEC_NONE) bytes = buf_view(&packed);
    ok = ok && file_write(o->path, bytes, e);
    buf_free(&packed);
    return ok;
}

void output_fail(cli *c, const output *o, const err *e)
{
    if (e->sys == EPIPE) return;
    cli_fail_err(c, strcmp(o->path, "-") ? o->path : "standard output", e);
}

void output_losses(cli *c, const output *o, const ledger *l)
{
    if (c->o.quiet || !ledger_lost(l)) return; /* nothing was lost; --json lists carried entries */
    buf b = {0};
    ledger_text(&b, l, c->term_err.color);
    cli_note(c, "%s: information lost or moved in the conversion to %s:", o->path, o->to->name);
    fwrite(b.p, 1, b.n, stderr);
    buf_free(&b);
}
