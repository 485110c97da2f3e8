/* Removes local details from errors before they leave the server. */
#include "server/client_err.h"

#include "base/ban.h"
#include <ctype.h>
#include <string.h>

static bool of_name(char c) { return c && (isalnum((unsigned char)c) || strchr("/._-", c)); }

/* Returns the next path of dir or below it.  A relative name such as "st" also occurs in words. */
static char *find_dir(char *msg, char *at, const char *dir, size_t n)
{
    for (; (at = strstr(at, dir)); at++)
        if ((at == msg || !of_name(at[-1])) && (at[n] == '/' || !of_name(at[n]))) return at;
    return NULL;
}

/* Shortens paths below dir to the file name: "/var/lib/kiln/2026-01-02.db: damaged" becomes
 * "2026-01-02.db: damaged". The directory itself becomes "the store". */
static void hide_dir(char *msg, size_t size, const char *dir)
{
    size_t n = dir ? strlen(dir) : 0;
    for (char *at = msg; n && (at = find_dir(msg, at, dir, n));) {
        char rest[sizeof((err *)0)->msg];
        bool inside = at[n] == '/';
        snprintf(rest, sizeof rest, "%s", at + n + inside);
        snprintf(at, size - (size_t)(at - msg), "%s%s", inside ? "" : "the store", rest);
        at += inside ? 0 : sizeof "the store" - 1;
    }
}

void client_err(const err *e, const char *store_dir, err *out)
{
    *out = *e;
    out->hint = NULL;
    if (e->code == ERR_SYS) { /* errno and file names are for the log only */
        *out = (err){0};
        err_set(out, ERR_SYS, "the store cannot be read or written at the moment");
        return;
    }
    hide_dir(out->msg, sizeof out->msg, store_dir);
    hide_dir(out->path, sizeof out->path, store_dir);
}
