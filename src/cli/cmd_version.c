#include "cli/cli.h"

#include "format/format.h"
#include "base/ban.h"

exit_code cmd_version(cli *c)
{
    buf_z(&c->out, "kiln " KILN_VERSION "\n");
    size_t n;
    const format *const *all = formats(&n);
    for (size_t i = 0; i < n; i++)
        buf_printf(&c->out, "  %-10s %-11s %s\n", all[i]->name,
                   all[i]->read && all[i]->write ? "read, write"
                   : all[i]->read                ? "read"
                                                 : "write",
                   all[i]->what);
    return EXIT_FINE;
}
