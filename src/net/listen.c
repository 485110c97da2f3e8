/* Parses listen addresses and opens their sockets. */
#include "net/listen.h"

#include "base/ban.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024, FIRST_INHERITED = 3, MAX_INHERITED = 64 };

/* ---- addresses ---- */

enum { MAX_PORT = 65535, MAX_HOST = 255, SHOWN = 80 };

static bool is_number(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.n > 0;
}

static bool bad_address(str a, const char *why, err *e)
{
    return err_set(e, ERR_USAGE, "cannot listen on `%.*s`: %s", (int)(a.n < SHOWN ? a.n : SHOWN),
                   a.p, why);
}

static bool take_port(str a, str p, long *out, err *e)
{
    *out = 0;
    if (!is_number(p))
        return bad_address(a, "write HOST:PORT or PORT; the port is a number from 0 to 65535", e);
    for (size_t i = 0; i < p.n && *out <= MAX_PORT; i++) *out = *out * 10 + (p.p[i] - '0');
    return *out <= MAX_PORT || bad_address(a, "the port is a number from 0 to 65535", e);
}

static bool take_host(str a, str h, char out[MAX_HOST + 1], err *e)
{
    bool bracketed = h.n > 1 && h.p[0] == '[' && h.p[h.n - 1] == ']';
    if (bracketed) h = (str){h.p + 1, h.n - 2};
    bool brackets = h.n && (memchr(h.p, '[', h.n) || memchr(h.p, ']', h.n));
    bool colons = h.n && memchr(h.p, ':', h.n);
    if (brackets || (bracketed && !colons) || (colons && !bracketed))
        return bad_address(a, "an IPv6 address is written in brackets: [::1]:4317", e);
    if (h.n > MAX_HOST || (h.n && memchr(h.p, 0, h.n)))
        return bad_address(a, "this is not a host", e);
    snprintf(out, MAX_HOST + 1, "%.*s", STR_ARG(h));
    return true;
}

/* Splits an address into host and port. An empty host means all interfaces. */
static bool split(str a, char host[MAX_HOST + 1], long *port, err *e)
{
    str h = STR("localhost"), p = a;
    for (size_t i = a.n; i-- > 0 && a.p[i] != ']';)
        if (a.p[i] == ':') {
            h = (str){a.p, i}, p = (str){a.p + i + 1, a.n - i - 1};
            break;
        }
    return take_port(a, p, port, e) && take_host(a, h, host, e);
}

bool net_listen_check(str address, err *e)
{
    char host[MAX_HOST + 1];
    long port;
    return split(address, host, &port, e);
}

static int open_one(const struct addrinfo *a)
{
    int on = 1, off = 0;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int net_listen(str address, err *e)
{
    char host[MAX_HOST + 1], port[8];
    long number;
    if (!split(address, host, &number, e)) return -1;
    snprintf(port, sizeof port, "%ld", number);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *all = NULL;
    /* For all interfaces, one socket serves both families if the machine has IPv6. */
    if (!host[0]) hints.ai_family = AF_INET6;
    int r = getaddrinfo(host[0] ? host : NULL, port, &hints, &all);
    if (r) {
        err_set(e, ERR_SYS, "cannot look up %s: %s", host, gai_strerror(r));
        return -1;
    }
    int fd = -1;
    for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) fd = open_one(a);
    int why = errno;
    freeaddrinfo(all);
    if (fd < 0 && !host[0]) { /* no IPv6 here */
        struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
        struct addrinfo a = {
            .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&any, .ai_addrlen = sizeof any};
        fd = open_one(&a);
        why = errno;
    }
    if (fd < 0) err_sys(e, why, "cannot listen on %.*s", STR_ARG(address));
    return fd;
}

bool net_is_loopback(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n) != 0) return false;
    if (a.ss_family == AF_UNIX) return true;
    if (a.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (a.ss_family != AF_INET6) return false;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

const char *net_local_text(int fd, char *out, size_t n)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[INET6_ADDRSTRLEN + 24], port[8];
    out[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&a, &len) != 0 ||
        getnameinfo((struct sockaddr *)&a, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return out;
    snprintf(out, n, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return out;
}

/* ---- systemd ---- */

int net_listen_inherited(const char *listen_pid, const char *listen_fds)
{
    if (!listen_pid || !listen_fds || strtol(listen_pid, NULL, 10) != (long)getpid()) return 0;
    long n = strtol(listen_fds, NULL, 10);
    if (n <= 0 || n > MAX_INHERITED) return 0;
    for (int fd = FIRST_INHERITED; fd < FIRST_INHERITED + n; fd++) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    return (int)n;
}
