/* Implements world.h on Linux. */
#include "net/world.h"

#include "sys/entropy.h"
#include "base/ban.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t system_now(void *ctx)
{
    (void)ctx;
    return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t system_wall(void *ctx)
{
    (void)ctx;
    return clock_ns(CLOCK_REALTIME);
}

static uint64_t system_random(void *ctx)
{
    (void)ctx;
    return entropy_u64();
}

static int system_dial(void *ctx, const struct sockaddr *to, socklen_t n)
{
    (void)ctx;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) return -1;
    /* Each request is written at once, so Nagle's algorithm would only delay the last segment. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, to, n) == 0 || errno == EINPROGRESS) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static ssize_t system_recv(void *ctx, int fd, void *p, size_t n)
{
    (void)ctx;
    return recv(fd, p, n, 0);
}

static ssize_t system_send(void *ctx, int fd, const void *p, size_t n)
{
    (void)ctx;
    return send(fd, p, n, MSG_NOSIGNAL);
}

const world *world_system(void)
{
    static const world w = {.now = system_now,
                            .wall = system_wall,
                            .random = system_random,
                            .dial = system_dial,
                            .recv = system_recv,
                            .send = system_send};
    return &w;
}
