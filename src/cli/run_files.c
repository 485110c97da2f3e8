/* The files of a recording: chooses their names, checks that they can be written, and writes
 * profile, report and summary. */
#include "cli/run.h"

#include "cli/output.h"
#include "format/html.h"
#include "model/executable.h"
#include "base/ban.h"
#include <unistd.h>

/* ---- names ---- */

static char *joined(run *r, str a, const char *b)
{
    size_t n = strlen(b);
    char *p = arena_alloc(&r->arena, a.n + n + 1);
    if (!p) return NULL;
    if (a.n) memcpy(p, a.p, a.n);
    memcpy(p + a.n, b, n + 1);
    return p;
}

/* Removes the suffixes: "x/app.pb.gz" becomes "x/app". */
static str stem_of(str path)
{
    if (codec_of_suffix(path) != CODEC_NONE)
        while (path.n && path.p[--path.n] != '.') continue;
    for (size_t i = path.n; i > 1 && path.p[i - 1] != '/'; i--)
        if (path.p[i - 1] == '.' && path.p[i - 2] != '/') return (str){path.p, i - 1};
    return path;
}

static bool is_stdout(const char *path) { return path && !strcmp(path, "-"); }

/* A recording of processes that already run writes OTLP to standard output, and a report only to a
 * file with a name. */
static bool may_write_stdout(run *r, err *e)
{
    const cli_options *o = &r->c->o;
    if (!r->attached)
        return err_set(e, ERR_USAGE,
                       "--output requires a file, because standard output belongs to the program");
    if (o->address)
        return err_set(e, ERR_USAGE, "--to sends the profile from a file, so --output cannot be -");
    if (isatty(STDOUT_FILENO))
        return err_set(e, ERR_USAGE,
                       "a profile is binary and standard output is a terminal; redirect it");
    r->html = o->html && o->html[0] ? o->html : NULL;
    return true;
}

bool run_choose_files(run *r, str name, err *e)
{
    const cli_options *o = &r->c->o;
    r->live = o->address && !o->output && !o->html;
    r->json = o->summary;
    if (r->live) return true;
    r->output = o->output ? o->output : joined(r, name, ".otlp");
    if (!r->output) return err_memory(e);
    if (is_stdout(r->output)) return may_write_stdout(r, e);
    bool is_html = format_for_path(str_of(r->output)) == &format_html;
    if (o->html && o->html[0])
        r->html = o->html;
    else if (!o->no_html && !is_html)
        r->html = joined(r, o->output ? stem_of(str_of(o->output)) : name, ".html");
    return true;
}

/* Inserts the process id into the name: "x/app.pb.gz" becomes "x/app-4711.pb.gz". */
const char *run_own_name(run *r, const char *path)
{
    char number[24];
    str all = str_of(path), stem = stem_of(all);
    snprintf(number, sizeof number, "-%d", getpid());
    const char *first = joined(r, stem, number);
    return first ? joined(r, str_of(first), path + stem.n) : path;
}

/* Checks the outputs before the program runs, so that no profile is lost at the end. */
bool run_can_write(run *r)
{
    const char *const files[] = {is_stdout(r->output) ? NULL : r->output, r->html,
                                 r->json && *r->json ? r->json : NULL};
    if (r->output && !is_stdout(r->output) && !format_for_path(str_of(r->output))) {
        cli_fail(r->c, EXIT_USAGE,
                 "%s: the name does not imply a format; use a name such as x.otlp or x.pb.gz",
                 r->output);
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        err e = {0};
        if (!files[i] || file_placeable(files[i], &e)) continue;
        char why[256];
        cli_fail(r->c, EXIT_ENVIRONMENT, "%s: %s; choose another file with --output=FILE", files[i],
                 err_text(&e, why, sizeof why));
        return false;
    }
    return true;
}

/* ---- results ---- */

static void write_profile(run *r)
{
    cli *c = r->c;
    output out;
    buf bytes = {0};
    err e = {0};
    if (is_stdout(r->output)) c->o.to = "otlp";
    bool ok = output_choose(c, r->output, &out);
    model_executables_first(&r->in.doc.model);
    write_opts w = {.title = input_title(r->output), .ledger = &r->in.ledger};
    ok = ok && out.to->write(out.to, &r->in.doc.model, &w, &bytes, &e) &&
         (c->o.output || r->rewrites || file_set_aside(r->output, &r->has_old, &e)) &&
         output_write(&out, buf_view(&bytes), &e);
    r->otlp_bytes = bytes.n;
    if (!ok && e.code) output_fail(c, &out, &e);
    if (!ok) r->output = NULL;
    if (ok && out.to != &format_otlp) output_losses(c, &out, &r->in.ledger);
    buf_free(&bytes);
}

static void write_html(run *r)
{
    buf bytes = {0};
    err e = {0};
    html_opts o = {.title = r->title};
    r->html_missing = !html_write(&r->in.doc.model, &o, &bytes, &e);
    bool ok = !r->html_missing && file_write(r->html, buf_view(&bytes), &e);
    if (!ok && (!r->html_missing || r->c->o.html)) cli_fail_err(r->c, r->html, &e);
    if (!ok) r->html = NULL;
    buf_free(&bytes);
}

void run_write_files(run *r)
{
    if (r->n_samples) {
        write_profile(r);
        if (r->html) write_html(r);
    } else {
        r->output = r->html = NULL;
    }
}

void run_summarize(run *r, void (*text)(run *r), void (*json)(run *r))
{
    cli *c = r->c;
    err e = {0};
    if (!r->json) {
        if (!c->o.quiet) text(r);
        return;
    }
    buf keep = c->out;
    c->out = (buf){0};
    json(r);
    if (*r->json && !file_write(r->json, buf_view(&c->out), &e)) cli_fail_err(c, r->json, &e);
    if (!*r->json) buf_str(&keep, buf_view(&c->out));
    buf_free(&c->out);
    c->out = keep;
}

/* Sends the profile with the options of `kiln send`. */
void run_send_file(run *r)
{
    cli *c = r->c;
    if (r->live || !c->o.address || !r->output) return;
    c->args = &r->output;
    c->n_args = 1;
    cmd_send(c);
}
