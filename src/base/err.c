/* Errors are plain structs, so recording one never allocates. The first cause is kept. Paths are
 * built from the inside out while callers return. */
#include "base/err.h"

#include "base/ban.h"
#include <inttypes.h>

PRINTF(5, 0)
static bool err_put(err *e, err_code code, int sys, uint64_t offset, const char *fmt, va_list ap)
{
    if (!e || e->code != ERR_OK) return false;
    e->code = code;
    e->sys = sys;
    e->offset = offset;
    e->path[0] = '\0';
    e->hint = NULL;
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    return false;
}

bool err_at(err *e, err_code code, uint64_t offset, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_put(e, code, 0, offset, fmt, ap);
    va_end(ap);
    return false;
}

bool err_set(err *e, err_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_put(e, code, 0, NO_OFFSET, fmt, ap);
    va_end(ap);
    return false;
}

bool err_sys(err *e, int sys, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_put(e, ERR_SYS, sys, NO_OFFSET, fmt, ap);
    va_end(ap);
    return false;
}

bool err_in(err *e, const char *fmt, ...)
{
    if (!e) return false;
    char step[sizeof e->path], old[sizeof e->path];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(step, sizeof step, fmt, ap);
    va_end(ap);
    memcpy(old, e->path, sizeof old);
    /* An index step ("[3]") follows its parent without a dot. */
    const char *dot = old[0] == '\0' || old[0] == '[' ? "" : ".";
    snprintf(e->path, sizeof e->path, "%s%s%s", step, dot, old);
    return false;
}

bool err_hint(err *e, const char *hint)
{
    if (e) e->hint = hint;
    return false;
}

const char *err_text_plain(const err *e, char *buf, size_t n)
{
    err plain = *e;
    plain.hint = NULL;
    return err_text(&plain, buf, n);
}

const char *err_text(const err *e, char *buf, size_t n)
{
    bool byte = e->offset != NO_OFFSET && e->code != ERR_SYS, path = e->path[0] != '\0';
    int k = snprintf(buf, n, "%s", e->msg);
    if (k < 0 || (size_t)k >= n) return buf;
    size_t at = (size_t)k;
    if (e->hint && (size_t)(k = snprintf(buf + at, n - at, " (%s)", e->hint)) < n - at)
        at += (size_t)k;
    if (e->sys && (size_t)(k = snprintf(buf + at, n - at, ": %s", strerror(e->sys))) < n - at)
        at += (size_t)k;
    if (byte && path)
        snprintf(buf + at, n - at, " (byte %" PRIu64 ", at %s)", e->offset, e->path);
    else if (byte)
        snprintf(buf + at, n - at, " (byte %" PRIu64 ")", e->offset);
    else if (path)
        snprintf(buf + at, n - at, " (at %s)", e->path);
    return buf;
}

bool err_memory(err *e) { return err_set(e, ERR_MEMORY, "not enough memory"); }

const char *err_code_name(err_code code)
{
    switch (code) {
    case ERR_OK: return "ok";
    case ERR_MALFORMED: return "malformed";
    case ERR_LIMIT: return "limit";
    case ERR_MISMATCH: return "mismatch";
    case ERR_UNSUPPORTED: return "unsupported";
    case ERR_USAGE: return "usage";
    case ERR_SYS: return "system";
    case ERR_MEMORY: return "memory";
    case ERR_BUSY: return "busy";
    }
    return "unknown";
}
