/* `kiln flame`: chooses the picture and writes the HTML report.  flame_out.c draws SVG and terminal
 * pictures. The report contains the whole profile, so options that select a part are rejected for
 * it. */
#include "cli/cli.h"

#include "cli/flame_out.h"
#include "cli/input.h"
#include "cli/naming.h"
#include "cli/report_source.h"
#include "format/html.h"
#include "model/merge.h"
#include "query/cumulative.h"
#include "base/ban.h"
#include <errno.h>

/* A kind of output, chosen by --to or by the suffix of the output. */
typedef struct picture {
    const char *name, *suffixes;
    bool report; /* contains the whole profile; others draw a selection (cli/flame_out.h) */
} picture;

static bool draw_html(cli *c, const model *m, const model *base, buf *out, err *e)
{
    html_opts o = {.title = input_title(c->args[0]), .base = base};
    arena a = {.seed = m->seed};
    buf texts = {0};
    if (base) o.base_title = input_title(c->o.diff);
    bool ok = !c->o.source || report_source(m, c->o.source_path, c->o.trim_path, &a, &texts, e);
    o.source = buf_view(&texts);
    ok = ok && html_write(m, &o, out, e);
    buf_free(&texts);
    arena_free(&a);
    return ok;
}

static const picture pictures[] = {
    {"html", ".html .htm", true},
    {"svg", ".svg", false},
};

static bool has_suffix(const picture *p, str path)
{
    for (const char *s = p->suffixes; *s;) {
        size_t n = strcspn(s, " ");
        if (str_ends(path, (str){s, n})) return true;
        s += n + (s[n] == ' ');
    }
    return false;
}

static const picture *choose(cli *c)
{
    for (size_t i = 0; i < ARRAY_LEN(pictures); i++) {
        const picture *p = &pictures[i];
        if (c->o.to ? !strcmp(c->o.to, p->name) : has_suffix(p, str_of(c->o.output))) return p;
    }
    cli_fail(c, EXIT_USAGE,
             "%s: the name does not imply a kind of picture; use --to svg or --to html",
             c->o.output);
    return NULL;
}

/* Joins all inputs into one model. Joining adds profiles up, so profiles that must not be added up
 * are emptied first, by the rules of cli/query.c. */
static bool join(input *in, size_t n, arena *a, model *out, err *e)
{
    if (n == 1) {
        *out = in[0].doc.model;
        return true;
    }
    model **all = arena_new(a, model *, n);
    if (!all) return err_memory(e);
    for (size_t i = 0; i < n; i++) all[i] = &in[i].doc.model;
    if (!cumulative_empty_replaced(all, n, a, e)) return false;
    for (size_t i = 0; i < n; i++)
        if (!levels_keep_newest(all[i], a, e)) return false;
    return model_merge((const model *const *)all, n, &(merge_opts){.join = true}, a, out, e);
}

static void report(cli *c, input *in, const input *base)
{
    err e = {0};
    buf out = {0};
    model m;
    naming_report(c);
    bool ok = join(in, c->n_args, &in[0].arena, &m, &e) &&
              draw_html(c, &m, base ? &base->doc.model : NULL, &out, &e) &&
              file_write(c->o.output, buf_view(&out), &e);
    if (!ok && e.sys != EPIPE) cli_fail_err(c, c->o.output, &e);
    buf_free(&out);
}

static bool open_named(cli *c, const char *path, input *in)
{
    if (!input_open_model(c, path, STORED_ALL, in)) return false;
    if (naming_add(c, in)) return true;
    input_close(in);
    return false;
}

static void report_with_base(cli *c, input *in)
{
    input base;
    if (!c->o.diff) {
        report(c, in, NULL);
    } else if (open_named(c, c->o.diff, &base)) {
        report(c, in, &base);
        input_close(&base);
    }
}

/* Rejects options that select samples, because the report selects in the browser. */
static bool nothing_selected(cli *c)
{
    const cli_options *o = &c->o;
    const char *const given[] = {
        o->focus ? "focus" : NULL,
        o->ignore_frames ? "ignore" : NULL,
        o->hide ? "hide" : NULL,
        o->show ? "show" : NULL,
        o->show_from ? "show-from" : NULL,
        o->collapse ? "collapse" : NULL,
        o->collapse_library ? "collapse-library" : NULL,
        o->collapse_recursion ? "collapse-recursion" : NULL,
        o->collapse_direct_recursion ? "collapse-direct-recursion" : NULL,
        o->focus_category ? "focus-category" : NULL,
        o->begins_with ? "begins-with" : NULL,
        o->ends_with ? "ends-with" : NULL,
        o->tagfocus ? "tagfocus" : NULL,
        o->tagignore ? "tagignore" : NULL,
        o->thread ? "thread" : NULL,
        o->trace_id ? "trace-id" : NULL,
        o->span_id ? "span-id" : NULL,
        o->since ? "start" : NULL,
        o->until ? "end" : NULL,
        o->wanted_type ? "sample-type" : NULL,
        o->wanted_id ? "profile-id" : NULL,
        o->resource.n ? "resource" : NULL,
        o->tagroot ? "tagroot" : NULL,
        o->tagleaf ? "tagleaf" : NULL,
    };
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        if (!given[i]) continue;
        cli_fail(c, EXIT_USAGE,
                 "--%s applies to SVG and terminal output; the report contains the whole profile",
                 given[i]);
        return false;
    }
    return true;
}

static void write_report(cli *c)
{
    if (!nothing_selected(c)) return;
    input *in = calloc(c->n_args, sizeof *in);
    if (!in) {
        cli_fail(c, EXIT_ENVIRONMENT, "out of memory");
        return;
    }
    size_t n = 0;
    while (n < c->n_args && open_named(c, c->args[n], &in[n])) n++;
    if (n == c->n_args) report_with_base(c, in);
    while (n--) input_close(&in[n]);
    free(in);
}

exit_code cmd_flame(cli *c)
{
    if (c->o.source && (c->o.json || (!c->o.output && !c->o.to))) {
        cli_fail(c, EXIT_USAGE, "--source applies to HTML");
    } else if (c->o.json) {
        flame_out(c, FLAME_AS_JSON);
    } else if (!c->o.output && !c->o.to) {
        flame_out(c, FLAME_ON_TERMINAL);
    } else {
        if (!c->o.output) c->o.output = "-";
        const picture *p = choose(c);
        if (p && p->report)
            write_report(c);
        else if (p && c->o.source)
            cli_fail(c, EXIT_USAGE, "--source applies to HTML");
        else if (p)
            flame_out(c, FLAME_AS_SVG);
    }
    return c->worst;
}
