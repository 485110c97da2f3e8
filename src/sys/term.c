#include "sys/term.h"

#include "base/ban.h"
#include <sys/ioctl.h>
#include <unistd.h>

term term_of(int fd)
{
    term t = {.tty = isatty(fd) == 1, .width = 80};
    if (!t.tty) return t;
    const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");
    t.color = !(no_color && *no_color) && name && strcmp(name, "dumb") != 0;
    struct winsize w;
    if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40) t.width = w.ws_col;
    return t;
}
