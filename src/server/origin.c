/* Compares Host and Origin with the names of the server. */
#include "server/origin.h"

#include "base/ban.h"
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* "name:port"; port {NULL, 0}: none.  The name of "[::1]:80" is "[::1]". */
typedef struct place {
    str name, port;
} place;

static place place_of(str s)
{
    size_t n = s.n;
    while (n && s.p[n - 1] >= '0' && s.p[n - 1] <= '9') n--;
    place p = {.name = s};
    if (n && s.p[n - 1] == ':') p = (place){{s.p, n - 1}, {s.p + n, s.n - n}};
    if (p.name.n > 1 && p.name.p[p.name.n - 1] == '.')
        p.name.n--; /* "localhost." equals "localhost" */
    return p;
}

static bool same(str a, str b) { return a.n == b.n && (!a.n || !strncasecmp(a.p, b.p, a.n)); }

static bool ends(str s, str tail)
{
    return s.n >= tail.n && same((str){s.p + s.n - tail.n, tail.n}, tail);
}

/* Returns whether the host is an IP address. DNS rebinding needs a name, so addresses are safe. */
static bool is_address(str name)
{
    char text[64];
    struct in6_addr a;
    bool v6 = name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']';
    if (v6) name = (str){name.p + 1, name.n - 2};
    if (name.n >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", STR_ARG(name));
    if (v6) text[strcspn(text, "%")] = '\0'; /* a zone */
    return inet_pton(v6 ? AF_INET6 : AF_INET, text, &a) == 1;
}

static bool is_listed(place p, const str *hosts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        place h = place_of(hosts[i]);
        if (same(h.name, p.name) && (!h.port.n || same(h.port, p.port))) return true;
    }
    return false;
}

static bool is_ours(place p, const str *hosts, size_t n)
{
    return !p.name.n || is_address(p.name) || same(p.name, STR("localhost")) ||
           ends(p.name, STR(".localhost")) || is_listed(p, hosts, n);
}

/* Splits "https://kiln.example.com:8443"; the default port comes from the scheme. Returns false for
 * "null", an extension or a file. */
static bool origin_place(str origin, place *out)
{
    static const struct {
        str scheme, port;
    } schemes[] = {{STR("http://"), STR("80")}, {STR("https://"), STR("443")}};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        str s = schemes[i].scheme;
        if (origin.n <= s.n || !same((str){origin.p, s.n}, s)) continue;
        *out = place_of((str){origin.p + s.n, origin.n - s.n});
        if (!out->port.n) out->port = schemes[i].port;
        return true;
    }
    return false;
}

/* Compares name and port. The scheme is not compared, because a proxy may terminate TLS. */
static bool is_same_page(place page, place host)
{
    bool usual = !host.port.n && (same(page.port, STR("80")) || same(page.port, STR("443")));
    return same(page.name, host.name) && (usual || same(page.port, host.port));
}

origin_verdict origin_check(const http_message *m, const str *hosts, size_t n)
{
    str origin = http_headers_get(&m->head, "origin");
    place host = place_of(m->authority), page;
    bool reads = str_eq(m->method, STR("GET")) || str_eq(m->method, STR("HEAD"));
    bool browser = (reads || origin.p) && !m->transport.tls && !m->transport.h2;
    if (browser && (m->transport.loopback || n) && !is_ours(host, hosts, n)) return ORIGIN_HOST;
    if (!origin.p) return ORIGIN_OURS;
    bool known =
        origin_place(origin, &page) && (is_same_page(page, host) || is_listed(page, hosts, n));
    return known ? ORIGIN_OURS : ORIGIN_PAGE;
}

bool origin_host_valid(str host)
{
    place p = place_of(host);
    for (size_t i = 0; i < p.name.n; i++) {
        char c = p.name.p[i];
        bool word = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' ||
                    c == '.' || c == '_';
        if (!word) return is_address(p.name);
    }
    return p.name.n > 0;
}
