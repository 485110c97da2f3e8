/* `kiln help`: prints the overview, the help of a command, or a manual page (help.c, man.c). */
#include "cli/cli.h"

#include "base/ban.h"

exit_code cmd_help(cli *c)
{
    const command *about = c->n_args ? command_named(c->args[0]) : NULL;
    if (c->n_args && !about) {
        cli_fail(c, EXIT_USAGE, "unknown command `%s`; `kiln help` lists the commands", c->args[0]);
        return EXIT_USAGE;
    }
    c->verbatim = c->o.man;
    if (c->o.man)
        man_page(&c->out, about);
    else if (about)
        help_command(&c->out, about);
    else
        help_overview(&c->out);
    return EXIT_FINE;
}
