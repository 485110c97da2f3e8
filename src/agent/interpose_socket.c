/* Interposes calls on sockets.  The kernel restarts them after a handler unless the socket has a
 * timeout (SO_RCVTIMEO, SO_SNDTIMEO).
 *
 * If only the agent's signal interrupted the call, the wrapper waits for the socket, at most for
 * the timeout, and repeats the call (wait_socket).  read and write do the same for sockets.
 *
 * A write, a send or a recv with MSG_WAITALL that the agent's signal interrupts in the middle
 * returns a short count, which a program without handlers never gets from a blocking descriptor.
 * The call then transfers the rest. */
#include "agent/wait.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/ban.h"

#define EXPORT __attribute__((visibility("default"))) OWN_CALL

ssize_t __recv_chk(int fd, void *p, size_t n, size_t bytes, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict p, size_t n, size_t bytes, int flags,
                       struct sockaddr *restrict from, socklen_t *restrict size);
ssize_t __read_chk(int fd, void *p, size_t n, size_t bytes);

typedef struct real_calls {
    ssize_t (*recv)(int, void *, size_t, int);
    ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
    ssize_t (*recvmsg)(int, struct msghdr *, int);
    int (*recvmmsg)(int, struct mmsghdr *, unsigned, int, struct timespec *);
    ssize_t (*__recv_chk)(int, void *, size_t, size_t, int);
    ssize_t (*__recvfrom_chk)(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    ssize_t (*sendmsg)(int, const struct msghdr *, int);
    int (*sendmmsg)(int, struct mmsghdr *, unsigned, int);
    int (*accept)(int, struct sockaddr *, socklen_t *);
    int (*accept4)(int, struct sockaddr *, socklen_t *, int);
    int (*connect)(int, const struct sockaddr *, socklen_t);
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*__read_chk)(int, void *, size_t, size_t);
    ssize_t (*readv)(int, const struct iovec *, int);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*writev)(int, const struct iovec *, int);
} real_calls;

static real_calls real;

#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)

__attribute__((constructor(101))) static void find_all(void)
{
    FIND(recv);
    FIND(recvfrom);
    FIND(recvmsg);
    FIND(recvmmsg);
    FIND(__recv_chk);
    FIND(__recvfrom_chk);
    FIND(send);
    FIND(sendto);
    FIND(sendmsg);
    FIND(sendmmsg);
    FIND(accept);
    FIND(accept4);
    FIND(connect);
    FIND(__read_chk);
    FIND(readv);
    FIND(write);
    FIND(writev);
    FIND(read); /* last: see find_real */
}

ALWAYS_INLINE void find_real(void)
{
    WAIT_SAVE_REGISTERS(); /* in every function here */
    if (UNLIKELY(!real.read)) find_all();
}

/* Called after a call that returned -1.  Returns true when it has to be repeated; otherwise errno
 * is the result for the program. */
static OWN_CALL NOINLINE bool again(int fd, bool out, wait_mark *m, uint64_t *deadline)
{
    if (!wait_again(m)) return false;
    int r = wait_socket(fd, out, m, deadline);
    if (r == 0) errno = EAGAIN;
    return r > 0;
}

#define ON_SOCKET(fd, out, call)                                                                   \
    ({                                                                                             \
        wait_mark mark_ = wait_begin();                                                            \
        uint64_t deadline_ = 0;                                                                    \
        __typeof__(call) r_;                                                                       \
        find_real();                                                                               \
        do r_ = (call);                                                                            \
        while (UNLIKELY(r_ == -1) && again(fd, out, &mark_, &deadline_));                          \
        r_;                                                                                        \
    })

/* Returns whether the agent's signal may have interrupted a call that transferred r of n bytes.  If
 * the transfer of the rest fails, the program gets the short count, and its next call returns the
 * error. */
static inline bool cut_short(ssize_t r, size_t n, const wait_mark *m)
{
    return UNLIKELY(r > 0 && (size_t)r < n && signals_delivered.ours != m->before.ours);
}

static OWN_CALL NOINLINE ssize_t send_rest(int fd, const char *p, size_t n, int flags, bool is_send,
                                           size_t done, wait_mark *m)
{
    while (done < n && wait_only_ours(m)) {
        ssize_t r =
            is_send ? real.send(fd, p + done, n - done, flags) : real.write(fd, p + done, n - done);
        if (r <= 0) break;
        done += (size_t)r;
    }
    errno = m->saved;
    return (ssize_t)done;
}

static OWN_CALL NOINLINE ssize_t recv_rest(int fd, char *p, size_t n, int flags, size_t done,
                                           wait_mark *m)
{
    while (done < n && wait_only_ours(m)) {
        ssize_t r = real.recv(fd, p + done, n - done, flags);
        if (r <= 0) break;
        done += (size_t)r;
    }
    errno = m->saved;
    return (ssize_t)done;
}

/* ---- input ---- */

EXPORT ssize_t recv(int fd, void *p, size_t n, int flags)
{
    wait_mark m = wait_begin();
    ssize_t r = ON_SOCKET(fd, false, real.recv(fd, p, n, flags));
    bool whole = (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
    return whole && cut_short(r, n, &m) ? recv_rest(fd, p, n, flags, (size_t)r, &m) : r;
}

EXPORT ssize_t __recv_chk(int fd, void *p, size_t n, size_t bytes, int flags)
{
    return ON_SOCKET(fd, false, real.__recv_chk(fd, p, n, bytes, flags));
}

EXPORT ssize_t recvfrom(int fd, void *restrict p, size_t n, int flags,
                        struct sockaddr *restrict from, socklen_t *restrict size)
{
    return ON_SOCKET(fd, false, real.recvfrom(fd, p, n, flags, from, size));
}

EXPORT ssize_t __recvfrom_chk(int fd, void *restrict p, size_t n, size_t bytes, int flags,
                              struct sockaddr *restrict from, socklen_t *restrict size)
{
    return ON_SOCKET(fd, false, real.__recvfrom_chk(fd, p, n, bytes, flags, from, size));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    return ON_SOCKET(fd, false, real.recvmsg(fd, m, flags));
}

EXPORT int recvmmsg(int fd, struct mmsghdr *v, unsigned n, int flags, struct timespec *timeout)
{
    return ON_SOCKET(fd, false, real.recvmmsg(fd, v, n, flags, timeout));
}

EXPORT int accept(int fd, struct sockaddr *restrict from, socklen_t *restrict size)
{
    return ON_SOCKET(fd, false, real.accept(fd, from, size));
}

EXPORT int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict size, int flags)
{
    return ON_SOCKET(fd, false, real.accept4(fd, from, size, flags));
}

EXPORT ssize_t read(int fd, void *p, size_t n) { return ON_SOCKET(fd, false, real.read(fd, p, n)); }

EXPORT ssize_t __read_chk(int fd, void *p, size_t n, size_t bytes)
{
    return ON_SOCKET(fd, false, real.__read_chk(fd, p, n, bytes));
}

EXPORT ssize_t readv(int fd, const struct iovec *v, int n)
{
    return ON_SOCKET(fd, false, real.readv(fd, v, n));
}

/* ---- output ---- */

EXPORT ssize_t send(int fd, const void *p, size_t n, int flags)
{
    wait_mark m = wait_begin();
    ssize_t r = ON_SOCKET(fd, true, real.send(fd, p, n, flags));
    return cut_short(r, n, &m) ? send_rest(fd, p, n, flags, true, (size_t)r, &m) : r;
}

EXPORT ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *to,
                      socklen_t size)
{
    return ON_SOCKET(fd, true, real.sendto(fd, p, n, flags, to, size));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    return ON_SOCKET(fd, true, real.sendmsg(fd, m, flags));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *v, unsigned n, int flags)
{
    return ON_SOCKET(fd, true, real.sendmmsg(fd, v, n, flags));
}

EXPORT ssize_t write(int fd, const void *p, size_t n)
{
    wait_mark m = wait_begin();
    ssize_t r = ON_SOCKET(fd, true, real.write(fd, p, n));
    return cut_short(r, n, &m) ? send_rest(fd, p, n, 0, false, (size_t)r, &m) : r;
}

EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
    return ON_SOCKET(fd, true, real.writev(fd, v, n));
}

/* The repeated connect waits for the connection that the first one started.  On timeout it fails
 * with EALREADY, and wait_socket with EAGAIN; the program gets EINPROGRESS, as from a first
 * connect. */
EXPORT int connect(int fd, const struct sockaddr *to, socklen_t size)
{
    wait_mark m = wait_begin();
    uint64_t deadline = 0;
    find_real();
    int r = real.connect(fd, to, size);
    if (LIKELY(r != -1) || !again(fd, true, &m, &deadline)) {
        if (r == -1 && deadline && errno == EAGAIN) errno = EINPROGRESS;
        return r;
    }
    do r = real.connect(fd, to, size);
    while (r == -1 && again(fd, true, &m, &deadline));
    if (r == -1 && (errno == EALREADY || errno == EAGAIN)) errno = EINPROGRESS;
    return r;
}
