/* `kiln run`: checks everything that can fail before the program starts, runs it, and writes
 * profile, report and summary afterwards.  run.h lists the other parts.  The exit status is that of
 * the program. */
#include "cli/run.h"

#include "base/time.h"
#include "cli/output.h"
#include "format/html.h"
#include "model/executable.h"
#include "sys/temp.h"
#include "base/ban.h"
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- options ---- */

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

static bool choose_files(run *r, err *e)
{
    const cli_options *o = &r->c->o;
    str name = input_title(r->c->args[0]);
    r->live = o->address && !o->output && !o->html;
    r->json = o->summary;
    if (r->live) return true;
    r->output = o->output ? o->output : joined(r, name, ".otlp");
    if (!r->output) return err_memory(e);
    if (!strcmp(r->output, "-"))
        return err_set(e, ERR_USAGE,
                       "--output requires a file, because standard output belongs to the program");
    bool is_html = format_for_path(str_of(r->output)) == &format_html;
    if (o->html && o->html[0])
        r->html = o->html;
    else if (!o->no_html && !is_html)
        r->html = joined(r, o->output ? stem_of(str_of(o->output)) : name, ".html");
    return true;
}

static bool choose_rates(run *r, err *e)
{
    const cli_options *o = &r->c->o;
    uint64_t every = RUN_EVERY_NS;
    r->hz = o->hz.given ? o->hz.n : RUN_HZ;
    if (r->hz < 1 || r->hz > RUN_HZ_MAX)
        return err_set(e, ERR_USAGE, "--hz must be between 1 and %d", RUN_HZ_MAX);
    if (o->every && (!duration_parse(str_of(o->every), &every) || every < 1000000))
        return err_set(e, ERR_USAGE,
                       "--every must be a time of at least 1ms, such as 10ms, not `%s`", o->every);
    if (o->wall || o->every) r->wall_ns = every;
    return true;
}

/* Checks the outputs before the program runs, so that no profile is lost at the end. */
static bool can_write(run *r)
{
    const char *const files[] = {r->output, r->html, r->json && *r->json ? r->json : NULL};
    if (r->output && !format_for_path(str_of(r->output))) {
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

/* ---- the run ---- */

static exit_code cannot_run(run *r, const char *name, const err *e)
{
    exit_code code = e->code == ERR_UNSUPPORTED                              ? EXIT_ENVIRONMENT
                     : e->code == ERR_SYS && e->sys == ENOENT && !e->path[0] ? EXIT_NOT_FOUND
                     : e->code == ERR_SYS                                    ? EXIT_CANNOT_RUN
                                                                             : EXIT_ENVIRONMENT;
    char why[512];
    cli_fail(r->c, code, "%s: %s", name, err_text(e, why, sizeof why));
    return code;
}

static void write_files(run *r);

/* Inserts the process id into the name: "x/app.pb.gz" becomes "x/app-4711.pb.gz". */
static const char *own_name(run *r, const char *path)
{
    char number[24];
    str all = str_of(path), stem = stem_of(all);
    snprintf(number, sizeof number, "-%d", getpid());
    const char *first = joined(r, stem, number);
    return first ? joined(r, str_of(first), path + stem.n) : path;
}

/* Writes the files again.  Runs in the follower, after all processes have ended. */
static void rewrite(run *r)
{
    err e = {0};
    r->rewrites = true;
    if (r->output && run_is_taken(r, 0)) r->output = own_name(r, r->output);
    if (r->html && run_is_taken(r, 1)) r->html = own_name(r, r->html);
    if (run_collect(r, &e)) write_files(r);
    collector_close(r->collector);
    temp_close();
}

static bool execute(run *r)
{
    cli *c = r->c;
    const char *const *env;
    err e = {0};
    r->tmp = temp_open("kiln-run", &e);
    if (!r->tmp || !run_capture_open(r, &e) || !run_environment(r, &env, &e)) {
        cli_fail_err(c, NULL, &e);
        return false;
    }
    const char **argv = arena_new(&r->arena, const char *, c->n_args + 1);
    if (!argv) {
        cli_fail(c, EXIT_ENVIRONMENT, "out of memory");
        return false;
    }
    for (size_t i = 0; i < c->n_args; i++) argv[i] = c->args[i];
    child_opts o = {.path = r->path, .argv = argv, .envp = env, .ignored = c->ignored};
    bool ran = child_run(&o, &r->end, &e);
    if (ran) r->follower = run_follow(r, rewrite);
    run_capture_close(r);
    if (r->follower) temp_leave(); /* the follower uses and removes the directory */
    if (ran) return true;
    cannot_run(r, r->path, &e);
    c->worst = EXIT_CANNOT_RUN; /* also for ENOENT, when the interpreter of the file is missing */
    return false;
}

/* ---- after the run ---- */

static void write_profile(run *r)
{
    cli *c = r->c;
    output out;
    buf bytes = {0};
    err e = {0};
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
    html_opts o = {.title = input_title(r->c->args[0])};
    r->html_missing = !html_write(&r->in.doc.model, &o, &bytes, &e);
    bool ok = !r->html_missing && file_write(r->html, buf_view(&bytes), &e);
    if (!ok && (!r->html_missing || r->c->o.html)) cli_fail_err(r->c, r->html, &e);
    if (!ok) r->html = NULL;
    buf_free(&bytes);
}

static void print_summary(run *r)
{
    cli *c = r->c;
    err e = {0};
    if (!r->json) {
        if (!c->o.quiet) run_print(r);
        return;
    }
    buf keep = c->out;
    c->out = (buf){0};
    run_print_json(r);
    if (*r->json && !file_write(r->json, buf_view(&c->out), &e)) cli_fail_err(c, r->json, &e);
    if (!*r->json) buf_str(&keep, buf_view(&c->out));
    buf_free(&c->out);
    c->out = keep;
}

/* Sends the profile with the options of `kiln send`. */
static void send_file(run *r)
{
    cli *c = r->c;
    if (r->live || !c->o.address || !r->output) return;
    c->args = &r->output;
    c->n_args = 1;
    cmd_send(c);
}

static void write_files(run *r)
{
    if (r->n_samples) {
        write_profile(r);
        if (r->html) write_html(r);
    } else {
        r->output = r->html = NULL;
    }
}

static void write_results(run *r)
{
    err e = {0};
    if (!run_collect(r, &e)) cli_fail_err(r->c, NULL, &e);
    write_files(r);
    run_follow_go(r);
    print_summary(r);
    send_file(r);
}

static exit_code finish(run *r, bool ran)
{
    cli *c = r->c;
    input_close(&r->in);
    collector_close(r->collector);
    arena_free(&r->arena);
    temp_close();
    if (!ran) return c->worst;
    cli_flush(c);
    child_die_by_signal(r->end.status);
    int code =
        WIFEXITED(r->end.status) ? WEXITSTATUS(r->end.status) : 128 + WTERMSIG(r->end.status);
    if (code) c->worst = (exit_code)code; /* the program's own failure takes precedence */
    return c->worst;
}

exit_code cmd_run(cli *c)
{
    run r = {.c = c};
    err e = {0};
    c->fd = STDERR_FILENO;
    c->term = c->term_err;
    bool ran = false;
    if (!choose_rates(&r, &e) || !choose_files(&r, &e))
        cli_fail_err(c, NULL, &e);
    else if (!run_target(&r, c->args[0], &e))
        cannot_run(&r, c->args[0], &e);
    else
        ran = can_write(&r) && execute(&r);
    if (ran) write_results(&r);
    return finish(&r, ran);
}
