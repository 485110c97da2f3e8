/* net/world.h - clock, random numbers and sockets behind function pointers, so that tests can
 * replace them. */
#pragma once
#include "base/compiler.h"
#include "base/time.h"
#include <sys/socket.h>
#include <sys/types.h>

#define NS_PER_MS UINT64_C(1000000)

typedef struct world {
    void *ctx;
    uint64_t (*now)(void *ctx);    /* ns of a monotonic clock */
    uint64_t (*wall)(void *ctx);   /* ns since 1970 */
    uint64_t (*random)(void *ctx); /* 64 unpredictable bits */
    /* Opens a non-blocking socket and connects it. EINPROGRESS counts as success. Returns -1 and
     * sets errno on failure. */
    int (*dial)(void *ctx, const struct sockaddr *to, socklen_t n);
    /* Like read and write on a non-blocking socket, without SIGPIPE. */
    ssize_t (*recv)(void *ctx, int fd, void *p, size_t n);
    ssize_t (*send)(void *ctx, int fd, const void *p, size_t n);
} world;

/* The real system. */
const world *world_system(void);

static inline uint64_t world_now(const world *w) { return w->now(w->ctx); }
