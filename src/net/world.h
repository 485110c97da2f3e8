/* net/world.h - clock, chance and sockets, as a struct: a test hands in its own and turns the clock by hand. */
#pragma once
#include "base/compiler.h"
#include <sys/socket.h>
#include <sys/types.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

typedef struct world {
    void *who;
    uint64_t (*now)(void *who);    /* ns of a clock that never goes back */
    uint64_t (*wall)(void *who);   /* ns since 1970 */
    uint64_t (*random)(void *who); /* 64 bits that nobody can foresee */
    /* A non-blocking socket on its way to the address (EINPROGRESS is success); -1: errno. */
    int (*dial)(void *who, const struct sockaddr *to, socklen_t n);
    /* As read and write on a non-blocking socket; never SIGPIPE. */
    ssize_t (*recv)(void *who, int fd, void *p, size_t n);
    ssize_t (*send)(void *who, int fd, const void *p, size_t n);
} world;

/* The machine's own. */
const world *world_system(void);

static inline uint64_t world_now(const world *w) { return w->now(w->who); }
