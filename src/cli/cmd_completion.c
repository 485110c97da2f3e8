/* `kiln completion`: chooses the script; completion.c writes it. */
#include "cli/cli.h"

#include "base/ban.h"

exit_code cmd_completion(cli *c)
{
    c->verbatim = true;
    if (!strcmp(c->args[0], "bash")) {
        completion_bash(&c->out);
    } else if (!strcmp(c->args[0], "zsh")) {
        completion_zsh(&c->out);
    } else {
        cli_fail(c, EXIT_USAGE, "no completion for `%s`; supported shells are bash and zsh",
                 c->args[0]);
        return EXIT_USAGE;
    }
    return EXIT_FINE;
}
