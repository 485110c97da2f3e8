#include "sys/pager.h"

#include "base/ban.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { NO_SUCH_PROGRAM = 127 }; /* what a shell says */

bool pager_show(str text)
{
    const char *name = getenv("PAGER");
    if (!name) name = "less";
    if (!*name || !strcmp(name, "cat")) return false;
    setenv("LESS", "FRX", 0);
    FILE *f = popen(name, "w");
    if (!f) return false;
    /* Somebody who quits early closes the pipe: SIGPIPE is ignored, so that is only a short write. */
    if (text.n) (void)!fwrite(text.p, 1, text.n, f);
    int status = pclose(f);
    return !(status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_PROGRAM);
}
