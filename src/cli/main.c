/* main of `kiln`: parses the command line, runs the command and writes its output. */
#include "cli/cli.h"
#include "cli/stored.h"
#include "cli/naming.h"
#include "sys/child.h"
#include "sys/map_guard.h"
#include "sys/pager.h"

#include "sys/entropy.h"
#include "sys/heap.h"
#include "base/ban.h"
#include <signal.h>
#include <unistd.h>

static bool wants_color(const char *when, bool terminal)
{
    if (when && !strcmp(when, "always")) return true;
    if (when && !strcmp(when, "never")) return false;
    return terminal;
}

/* Returns a random seed, so that no input can be crafted to collide. KILN_SEED fixes it for
 * benchmarks. */
static uint64_t choose_seed(void)
{
    const char *fixed = getenv("KILN_SEED");
    return fixed && *fixed ? strtoull(fixed, NULL, 0) : entropy_u64();
}

static void dispatch(cli *c)
{
    exit_code code;
    if (c->o.version) {
        code = cmd_version(c);
    } else if (!c->command) {
        help_overview(&c->out);
        code = c->o.help ? EXIT_FINE : EXIT_USAGE;
    } else if (c->o.help) {
        help_command(&c->out, c->command);
        code = EXIT_FINE;
    } else if (!stored_check_select(c)) {
        code = EXIT_USAGE;
    } else {
        code = c->command->run(c);
    }
    if (code > c->worst) c->worst = code;
}

int main(int argc, char **argv)
{
    heap_in_huge_pages();
    map_guard_start();
    cli c = {.fd = STDOUT_FILENO, .settings = child_settings_now()};
    signal(SIGPIPE, SIG_IGN); /* cli_flush handles EPIPE */
    c.term = term_of(STDOUT_FILENO);
    c.term_err = term_of(STDERR_FILENO);
    c.seed = choose_seed();
    err e = {0};
    if (!options_parse(argc, argv, &c.command, &c.o, &c.args, &c.n_args, &e)) {
        cli_fail_err(&c, NULL, &e);
        return (int)c.worst;
    }
    c.term.color = wants_color(c.o.color, c.term.color);
    c.term_err.color = wants_color(c.o.color, c.term_err.color);
    dispatch(&c);
    cli_localize(&c);
    if (!c.pages || !pager_show(buf_view(&c.out))) cli_flush(&c);
    buf_free(&c.out);
    naming_close(&c);
    return (int)c.worst;
}
