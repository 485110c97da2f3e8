/* Detects the properties of a terminal from the environment. */
#include "sys/term.h"

#include "base/ban.h"
#include <sys/ioctl.h>
#include <unistd.h>

/* Returns the number of colours.  COLORTERM announces 24 bits; only old terminal names mean fewer
 * than 256 colours. */
static unsigned colors(const char *name)
{
    static const char *const few[] = {"dumb", "linux", "ansi", "vt100", "vt102", "vt220"};
    const char *deep = getenv("COLORTERM");
    if (!name) return 0;
    for (size_t i = 0; i < ARRAY_LEN(few); i++)
        if (!strcmp(name, few[i])) return 0;
    bool rgb = deep && (!strcmp(deep, "truecolor") || !strcmp(deep, "24bit"));
    return rgb || strstr(name, "direct") ? 1 << 24 : 256;
}

/* Checks the name only, because the locale need not be installed. */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *v = getenv(names[i]);
        if (v && *v) return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

term term_of(int fd)
{
    term t = {.tty = isatty(fd) == 1,
              .width = 80,
              .colors = colors(getenv("TERM")),
              .utf8 = locale_is_utf8()};
    if (!t.tty) return t;
    const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");
    t.moves = name && strcmp(name, "dumb") != 0;
    t.color = t.moves && !(no_color && *no_color);
    struct winsize w;
    if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40) t.width = w.ws_col;
    return t;
}
