/* `kiln ctx`: reads the context that a process publishes (ctx/contexts.h) and explains why there is
 * none. */
#include "cli/cli.h"

#include "cli/ctx_out.h"
#include "wire/json.h"
#include "base/ban.h"
#include <errno.h>

enum { BUDGET = 256 << 20, WIDTH = 80 };

static bool pid_parse(const char *text, int *pid)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    *pid = (int)v;
    return !errno && end != text && !*end && v > 0 && v <= INT32_MAX;
}

static void fail(cli *c, int pid, const err *e)
{
    if (e->code == ERR_SYS && (e->sys == EPERM || e->sys == EACCES))
        cli_fail(
            c, EXIT_ENVIRONMENT,
            "no permission to read process %d: run kiln as its user or as root (sudo kiln ctx %d)",
            pid, pid);
    else
        cli_fail_err(c, NULL, e);
}

/* Returns success if anything was published; otherwise reports the reason. */
static exit_code judge(cli *c, const contexts *x)
{
    if (x->has_process || x->n_with) {
        if (x->n_failed) cli_note(c, "%zu threads could not be read", x->n_failed);
        return EXIT_FINE;
    }
    if (x->n_failed) {
        cli_fail(c, EXIT_ENVIRONMENT, "no thread of process %d could be read: %.*s", x->pid,
                 STR_ARG(x->threads.v[0].why));
    } else if (x->process.n_mappings) {
        cli_fail(c, EXIT_BAD_INPUT,
                 "process %d has a mapping named OTEL_CTX, but without a header of version 2",
                 x->pid);
    } else {
        cli_fail(c, EXIT_BAD_INPUT,
                 "process %d has not published a context; kiln_span_publish (kiln/span.h), Kiln's "
                 "agent and SDKs that implement OTEP 4719 publish one",
                 x->pid);
    }
    return c->worst;
}

exit_code cmd_ctx(cli *c)
{
    arena a = {.budget = BUDGET, .seed = c->seed};
    contexts x;
    err e = {0};
    int pid;
    if (!pid_parse(c->args[0], &pid)) {
        cli_fail(c, EXIT_USAGE, "`%s` is not a process id", c->args[0]);
        return EXIT_USAGE;
    }
    contexts_opts o = {.no_threads = c->o.no_threads};
    exit_code code = EXIT_ENVIRONMENT;
    if (contexts_read(pid, &o, &a, &x, &e)) {
        code = judge(c, &x);
        if (c->o.json) {
            json_out out = {.b = &c->out, .pretty = true};
            contexts_json(&out, &x);
            buf_putc(&c->out, '\n');
        } else if (code == EXIT_FINE) {
            contexts_text(&c->out, &x, c->term.tty ? c->term.width : WIDTH, c->term.color);
        }
    } else {
        fail(c, pid, &e);
        code = c->worst;
    }
    arena_free(&a);
    return code;
}
