/* `kiln version`: prints the version and the supported layouts. */
#include "cli/cli.h"

#include "base/ban.h"

exit_code cmd_version(cli *c)
{
    buf_z(&c->out, "kiln " KILN_VERSION "\n");
    buf_z(&c->out, "OTLP profiles: reads layouts 1.3 to 1.11, writes 1.10 and 1.9\n"
                   "`kiln formats` lists the other formats\n");
    return EXIT_FINE;
}
