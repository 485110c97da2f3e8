/* Decides whether an interrupted call is repeated, and computes remaining times. */
#include "agent/wait.h"

#include "agent/trampoline.h"

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include "base/ban.h"

enum { NS = 1000000000, MS = 1000000 };

COLD bool wait_only_ours(wait_mark *m)
{
    uint32_t ours = signals_delivered.ours;
    if (ours == m->before.ours || signals_delivered.theirs != m->before.theirs) return false;
    if (trampoline_bypassed()) return false;
    /* A handler of the program may have run in the meantime.  Another run of the agent's handler
     * does not matter. */
    if (signals_delivered.theirs != m->before.theirs) return false;
    m->before.ours = ours;
    return true;
}

COLD bool wait_again(wait_mark *m)
{
    if (errno != EINTR || !wait_only_ours(m)) return false;
    errno = m->saved;
    return true;
}

struct timespec wait_left(uint64_t deadline)
{
    uint64_t now = wait_now(), left = deadline > now ? deadline - now : 0;
    return (struct timespec){(time_t)(left / NS), (long)(left % NS)};
}

uint64_t wait_until(uint64_t start, const struct timespec *t)
{
    uint64_t ns;
    if (t->tv_sec < 0 || ckd_mul(&ns, (uint64_t)t->tv_sec, (uint64_t)NS) ||
        ckd_add(&ns, ns, (uint64_t)t->tv_nsec) || ckd_add(&ns, ns, start) || ns > INT64_MAX)
        return INT64_MAX;
    return ns;
}

int wait_left_ms(uint64_t deadline)
{
    uint64_t now = wait_now(), left = deadline > now ? deadline - now : 0;
    left = (left + MS - 1) / MS;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* Uses the interposed ppoll, which continues after the agent's signals and is a cancellation point,
 * as the original call is. */
OWN_CALL int wait_socket(int fd, bool out, const wait_mark *m, uint64_t *deadline)
{
    struct timeval t = {0};
    socklen_t n = sizeof t;
    if (!*deadline && getsockopt(fd, SOL_SOCKET, out ? SO_SNDTIMEO : SO_RCVTIMEO, &t, &n) == 0 &&
        (t.tv_sec || t.tv_usec))
        *deadline = wait_until(wait_now(), &(struct timespec){t.tv_sec, t.tv_usec * 1000});
    errno = m->saved;
    if (!*deadline) return 1; /* not a socket, or no timeout */
    struct pollfd p = {.fd = fd, .events = out ? POLLOUT : POLLIN | POLLPRI};
    struct timespec left = wait_left(*deadline);
    return ppoll(&p, 1, &left, NULL);
}
