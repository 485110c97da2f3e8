/* The sd_notify protocol without libsystemd: one datagram for each message. */
#include "server/notify.h"

#include "base/ban.h"
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Returns a variable; an empty one counts as unset. */
static const char *variable(char *(*get)(const char *name), const char *name)
{
    const char *v = get(name);
    return v && v[0] ? v : NULL;
}

notify notify_open(char *(*get)(const char *name))
{
    notify n = {.socket = variable(get, "NOTIFY_SOCKET")};
    const char *every = variable(get, "WATCHDOG_USEC"), *pid = variable(get, "WATCHDOG_PID");
    if (n.socket && n.socket[0] != '/' && n.socket[0] != '@') n.socket = NULL;
    if (!n.socket || !every || (pid && strtol(pid, NULL, 10) != (long)getpid())) return n;
    char *end;
    unsigned long long us = strtoull(every, &end, 10);
    if (!*end && us && us < UINT64_MAX / 1000) n.watchdog_ns = (uint64_t)us * 1000;
    return n;
}

void notify_send(const notify *n, const char *fmt, ...)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = n->socket ? strlen(n->socket) : 0;
    if (!len || len >= sizeof to.sun_path) return;
    memcpy(to.sun_path, n->socket, len);
    if (to.sun_path[0] == '@') to.sun_path[0] = 0; /* an abstract socket */
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int fd = k < 0 ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    size_t n_text = (size_t)k < sizeof text ? (size_t)k : sizeof text - 1;
    (void)!sendto(fd, text, n_text, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}
