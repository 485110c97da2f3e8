/* `kiln ctx`: what a running process publishes for profilers. */
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
        cli_fail(c, EXIT_ENVIRONMENT,
                 "process %d may not be read: be its user, or root (sudo kiln ctx %d)", pid, pid);
    else
        cli_fail_err(c, NULL, e);
}

/* Something that a reader could use, or the reason why there is nothing. */
static exit_code judge(cli *c, const contexts *x)
{
    if (x->has_process || x->n_with) {
        if (x->n_failed) cli_note(c, "%zu threads could not be looked at", x->n_failed);
        return EXIT_FINE;
    }
    if (x->n_failed) {
        cli_fail(c, EXIT_ENVIRONMENT, "no thread of process %d could be looked at: %.*s", x->pid,
                 STR_ARG(x->threads.v[0].why));
    } else if (x->process.n_mappings) {
        cli_fail(c, EXIT_BAD_INPUT,
                 "process %d has memory called OTEL_CTX, but no header of version 2 in it", x->pid);
    } else {
        cli_fail(c, EXIT_BAD_INPUT,
                 "process %d has published nothing: it would by kiln_span_publish (kiln/span.h), "
                 "Kiln's agent or an SDK that knows OTEP 4719",
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
        cli_fail(c, EXIT_USAGE, "%s is no process id", c->args[0]);
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
