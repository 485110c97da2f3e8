/* Parses endpoint URLs and explains why a URL is invalid. */
#include "net/url.h"

#include "base/ban.h"
#include <strings.h>

static bool take_scheme(str *s, url *out, err *e)
{
    const char *sep = s->n ? memmem(s->p, s->n, "://", 3) : NULL;
    if (!sep) return true;
    str scheme = {s->p, (size_t)(sep - s->p)};
    out->has_scheme = true;
    out->tls = scheme.n == 5 && !strncasecmp(scheme.p, "https", 5);
    *s = (str){sep + 3, s->n - scheme.n - 3};
    if (out->tls || (scheme.n == 4 && !strncasecmp(scheme.p, "http", 4))) return true;
    return err_set(e, ERR_USAGE, "unsupported scheme `%.*s://`: use http:// or https://",
                   STR_ARG(scheme));
}

static bool take_port(str digits, url *out, err *e)
{
    uint32_t v = 0;
    for (size_t i = 0; i < digits.n && i < 6; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9') v = 1 << 16;
        v = v < 1 << 16 ? v * 10 + (uint32_t)(digits.p[i] - '0') : v;
    }
    out->port = (uint16_t)v;
    out->has_port = true;
    if (digits.n && digits.n <= 5 && v && v < 1 << 16) return true;
    return err_set(e, ERR_USAGE, "`%.*s` is not a port", STR_ARG(digits));
}

static bool is_host(str host)
{
    for (size_t i = 0; i < host.n; i++) {
        unsigned char c = (unsigned char)host.p[i];
        if (c <= ' ' || c == 127 || strchr("\"<>\\^`{|}@,", c)) return false;
    }
    return host.n > 0 && host.n < 256;
}

static bool take_host(str authority, url *out, err *e)
{
    str rest = {0};
    if (authority.n &&
        memchr(authority.p, '@', authority.n)) /* not printed: it contains a password */
        return err_set(
            e, ERR_USAGE,
            "an address must not contain a user name or password; send them in a header");
    if (authority.n && authority.p[0] == '[') {
        const char *end = memchr(authority.p, ']', authority.n);
        if (!end) return err_set(e, ERR_USAGE, "the address lacks a `]`");
        out->bracketed = true;
        out->host = (str){authority.p + 1, (size_t)(end - authority.p) - 1};
        rest = (str){end + 1, authority.n - out->host.n - 2};
    } else {
        const char *colon = authority.n ? memchr(authority.p, ':', authority.n) : NULL;
        out->host = (str){authority.p, colon ? (size_t)(colon - authority.p) : authority.n};
        rest = (str){authority.p + out->host.n, authority.n - out->host.n};
    }
    if (!is_host(out->host))
        return err_set(e, ERR_USAGE,
                       "`%.*s` is not a host; an address looks like http://localhost:4318",
                       STR_ARG(authority));
    out->port = out->tls ? 443 : 80;
    if (!rest.n) return true;
    if (rest.p[0] != ':') return err_set(e, ERR_USAGE, "`%.*s` is not a port", STR_ARG(rest));
    return take_port((str){rest.p + 1, rest.n - 1}, out, e);
}

bool url_parse(str text, url *out, err *e)
{
    *out = (url){0};
    str s = text;
    if (!take_scheme(&s, out, e)) return false;
    size_t n = 0;
    while (n < s.n && s.p[n] != '/' && s.p[n] != '?' && s.p[n] != '#') n++;
    out->path = (str){s.p + n, s.n - n};
    for (size_t i = 0; i < out->path.n; i++) {
        unsigned char c = (unsigned char)out->path.p[i];
        if (c == '?' || c == '#' || c <= ' ' || c == 127)
            return err_set(
                e, ERR_USAGE,
                "the path of an endpoint must not contain a query, a fragment or spaces");
    }
    return take_host((str){s.p, n}, out, e);
}

/* Returns whether the host is 127.x.x.x; a name that begins with 127. does not count. */
static bool is_loopback4(str host)
{
    size_t n = 0;
    while (n < host.n && (host.p[n] == '.' || (host.p[n] >= '0' && host.p[n] <= '9'))) n++;
    return n == host.n && str_starts(host, STR("127."));
}

bool url_is_local(const url *u)
{
    return (u->host.n == 9 && !strncasecmp(u->host.p, "localhost", 9)) || is_loopback4(u->host) ||
           str_eq(u->host, STR("::1"));
}
