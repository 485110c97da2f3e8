/* Shows text through the user's pager. */
#include "sys/pager.h"

#include "base/ban.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { NO_SUCH_PROGRAM = 127 }; /* exit status of a shell for a missing program */

bool pager_show(str text)
{
    const char *name = getenv("PAGER");
    if (!name) name = "less";
    if (!*name || !strcmp(name, "cat")) return false;
    setenv("LESS", "FRX", 0);
    /* PAGER is a command line with options, so a shell reads it, as in man and git. */
    FILE *f = popen(name, "w"); /* NOLINT(cert-env33-c) */
    if (!f) return false;
    /* SIGPIPE is ignored: if the user quits early, the write only ends early. */
    if (text.n) (void)!fwrite(text.p, 1, text.n, f);
    int status = pclose(f);
    return !(status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_PROGRAM);
}
