/* `kiln run`: checks everything that can fail before the program starts, runs it, and writes
 * profile, report and summary afterwards.  run.h lists the other parts.  The exit status is that of
 * the program. */
#include "cli/record.h"

#include "base/time.h"
#include "sys/temp.h"
#include "base/ban.h"
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- options ---- */

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

/* Writes the files again.  Runs in the follower, after all processes have ended. */
static void rewrite(run *r)
{
    err e = {0};
    r->rewrites = true;
    if (r->output && run_is_taken(r, 0)) r->output = run_own_name(r, r->output);
    if (r->html && run_is_taken(r, 1)) r->html = run_own_name(r, r->html);
    if (run_collect(r, &e)) run_write_files(r);
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
    child_opts o = {.path = r->path, .argv = argv, .envp = env, .settings = c->settings};
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

static void write_results(run *r)
{
    err e = {0};
    if (!run_collect(r, &e)) cli_fail_err(r->c, NULL, &e);
    run_write_files(r);
    run_follow_go(r);
    run_summarize(r, run_print, run_print_json);
    run_send_file(r);
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

/* Records a program that cannot take the probe from outside. */
static exit_code from_outside(run *r, const err *why)
{
    exit_code code = record_instead(r->c, r->path, r->title, why->msg);
    arena_free(&r->arena);
    return code;
}

exit_code cmd_run(cli *c)
{
    run r = {.c = c, .title = input_title(c->args[0])};
    err e = {0};
    c->fd = STDERR_FILENO;
    c->term = c->term_err;
    bool ran = false;
    if (!choose_rates(&r, &e) || !run_choose_files(&r, r.title, &e)) {
        cli_fail_err(c, NULL, &e);
    } else if (!run_target(&r, c->args[0], &e)) {
        if (e.code == ERR_UNSUPPORTED) return from_outside(&r, &e);
        cannot_run(&r, c->args[0], &e);
    } else {
        ran = run_can_write(&r) && execute(&r);
    }
    if (ran) write_results(&r);
    return finish(&r, ran);
}
