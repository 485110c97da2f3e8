/* Writes paths of requests.  Everything outside of [A-Za-z0-9._~-] is escaped, so a file name cannot
 * add a query, a header or another path. */
#include "debuginfod/path.h"

#include "base/ban.h"

static bool put_build_id(str id, buf *out, err *e)
{
    if (!id.n || id.n % 2 || id.n > DEBUGINFOD_MAX_ID)
        return err_set(e, ERR_USAGE, "a build id has 2 to %d hex digits, in pairs",
                       DEBUGINFOD_MAX_ID);
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (c >= 'A' && c <= 'F') c = (char)(c - 'A' + 'a');
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return err_set(e, ERR_USAGE, "a build id consists of hex digits");
        buf_putc(out, c);
    }
    return true;
}

static void put_escaped(str part, buf *out)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-";
    for (size_t i = 0; i < part.n; i++) {
        if (memchr(plain, part.p[i], sizeof plain - 1))
            buf_putc(out, part.p[i]);
        else
            buf_printf(out, "%%%02X", (unsigned char)part.p[i]);
    }
}

static bool check_path(str path, err *e)
{
    if (!path.n || path.p[0] != '/')
        return err_set(e, ERR_USAGE, "the path of a source file must be absolute");
    if (path.n > DEBUGINFOD_MAX_PATH)
        return err_set(e, ERR_USAGE, "the path is longer than %d bytes", DEBUGINFOD_MAX_PATH);
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.p[i] < ' ' || path.p[i] == 127)
            return err_set(e, ERR_USAGE, "the path contains a control character");
    return true;
}

/* Removes the last component that was written after `from`. */
static void leave_folder(buf *out, size_t from)
{
    while (out->n > from && out->p[--out->n] != '/') {}
}

bool debuginfod_source_path(str build_id, str path, buf *out, err *e)
{
    buf_z(out, "/buildid/");
    if (!put_build_id(build_id, out, e) || !check_path(path, e)) return false;
    buf_z(out, "/source");
    size_t from = out->n;
    for (size_t i = 0; i < path.n;) {
        size_t end = ++i; /* after the slash */
        while (end < path.n && path.p[end] != '/') end++;
        str part = {path.p + i, end - i};
        i = end;
        if (str_eq(part, STR(".."))) {
            leave_folder(out, from);
        } else if (part.n && !str_eq(part, STR("."))) {
            buf_putc(out, '/');
            put_escaped(part, out);
        }
    }
    if (out->failed) return err_memory(e);
    return out->n > from || err_set(e, ERR_USAGE, "the path names no file");
}
