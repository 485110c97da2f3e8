/* Interposes waits that the kernel does not restart after a handler, even with SA_RESTART
 * (signal(7)): sleeps, multiplexing, semaphores, System V IPC, waits for signals.  Each calls
 * libc's function, so that it stays a cancellation point, and repeats it when only the agent's
 * signal interrupted it (agent/wait.h).
 *
 * A repeated call ends when the first would have ended: the wrapper converts a relative timeout to
 * a deadline on CLOCK_MONOTONIC, unless the kernel returns the remaining time.  It reads a timeout
 * in memory only after the kernel has read it, so that an invalid pointer still gives EFAULT.
 *
 * The kernel restarts futexes without a timeout, POSIX queues, file locks, wait4 and reads of slow
 * files; pthread_cond_timedwait and related functions loop in libc. */
#include "agent/wait.h"

#include <aio.h>
#include <dlfcn.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <threads.h>
#include <unistd.h>
#include "base/ban.h"

#define EXPORT __attribute__((visibility("default"))) OWN_CALL

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t bytes);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                size_t bytes);
int epoll_pwait2(int ep, struct epoll_event *out, int max, const struct timespec *timeout,
                 const sigset_t *mask);
int sem_clockwait(sem_t *restrict s, clockid_t clock, const struct timespec *restrict until);

typedef struct real_calls {
    int (*nanosleep)(const struct timespec *, struct timespec *);
    int (*clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
    int (*poll)(struct pollfd *, nfds_t, int);
    int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    int (*__poll_chk)(struct pollfd *, nfds_t, int, size_t);
    int (*__ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
    int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
    int (*epoll_wait)(int, struct epoll_event *, int, int);
    int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
    int (*epoll_pwait2)(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
    int (*sem_wait)(sem_t *);
    int (*sem_timedwait)(sem_t *, const struct timespec *);
    int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
    int (*semop)(int, struct sembuf *, size_t);
    int (*semtimedop)(int, struct sembuf *, size_t, const struct timespec *);
    int (*msgsnd)(int, const void *, size_t, int);
    ssize_t (*msgrcv)(int, void *, size_t, long, int);
    int (*pause)(void);
    int (*sigsuspend)(const sigset_t *);
    int (*aio_suspend)(const struct aiocb *const *, int, const struct timespec *);
} real_calls;

static real_calls real;

#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)

__attribute__((constructor(101))) static void find_all(void)
{
    FIND(clock_nanosleep);
    FIND(poll);
    FIND(ppoll);
    FIND(__poll_chk);
    FIND(__ppoll_chk);
    FIND(select);
    FIND(pselect);
    FIND(epoll_wait);
    FIND(epoll_pwait);
    FIND(epoll_pwait2);
    FIND(sem_wait);
    FIND(sem_timedwait);
    FIND(sem_clockwait);
    FIND(semop);
    FIND(semtimedop);
    FIND(msgsnd);
    FIND(msgrcv);
    FIND(pause);
    FIND(sigsuspend);
    FIND(aio_suspend);
    FIND(nanosleep); /* last: see find_real */
}

ALWAYS_INLINE void find_real(void)
{
    WAIT_SAVE_REGISTERS(); /* in every function here */
    if (UNLIKELY(!real.nanosleep)) find_all();
}

/* Repeats the same call as long as only the agent's signal interrupts it. */
#define AGAIN(call)                                                                                \
    ({                                                                                             \
        wait_mark mark_ = wait_begin();                                                            \
        __typeof__(call) r_;                                                                       \
        do r_ = (call);                                                                            \
        while (r_ == -1 && wait_again(&mark_));                                                    \
        r_;                                                                                        \
    })

/* ---- sleeps ---- */

static int not_supported(void)
{
    errno = ENOSYS;
    return -1;
}

static bool again_number(int error, wait_mark *m)
{
    if (LIKELY(error != EINTR)) return false;
    int saved = errno;
    errno = error;
    bool again = wait_again(m);
    errno = saved;
    return again;
}

/* Continues a relative sleep that only the agent's signal interrupted, with `left` remaining.  Uses
 * an absolute time, because the kernel's remaining time includes the timer slack each time. */
static OWN_CALL int sleep_on(clockid_t clock, struct timespec *left, wait_mark *m)
{
    int r;
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) {
        do r = real.clock_nanosleep(clock, 0, left, left);
        while (again_number(r, m));
        return r;
    }
    uint64_t end = wait_until(wait_now(), left);
    struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    do r = real.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    while (again_number(r, m));
    if (r == EINTR) *left = wait_left(end);
    return r;
}

/* Writes the remaining time only if a handler of the program interrupted the sleep.  `rem` may
 * equal `req`, and a program may rely on `rem` being unchanged after an uninterrupted sleep. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *req,
                           struct timespec *rem)
{
    struct timespec left = {0};
    int r;
    find_real();
    wait_mark m = wait_begin();
    if (flags & TIMER_ABSTIME) {
        do r = real.clock_nanosleep(clock, flags, req, rem);
        while (again_number(r, &m));
        return r;
    }
    r = real.clock_nanosleep(clock, flags, req, &left);
    if (LIKELY(r != EINTR)) return r;
    if (again_number(r, &m)) r = sleep_on(clock, &left, &m);
    if (r == EINTR && rem) *rem = left;
    return r;
}

EXPORT int nanosleep(const struct timespec *req, struct timespec *rem)
{
    struct timespec left = {0};
    find_real();
    wait_mark m = wait_begin();
    int r = real.nanosleep(req, &left);
    if (LIKELY(r != -1 || errno != EINTR)) return r;
    int error = wait_again(&m) ? sleep_on(CLOCK_REALTIME, &left, &m) : EINTR;
    if (!error) return 0;
    if (error == EINTR && rem) *rem = left;
    errno = error;
    return -1;
}

static OWN_CALL int sleep_for(struct timespec t, struct timespec *left)
{
    *left = t;
    return nanosleep(&t, left);
}

EXPORT int usleep(useconds_t us)
{
    struct timespec left;
    return sleep_for((struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, &left);
}

EXPORT unsigned sleep(unsigned seconds)
{
    struct timespec left;
    int saved = errno;
    if (sleep_for((struct timespec){.tv_sec = seconds}, &left) != 0) return (unsigned)left.tv_sec;
    errno = saved;
    return 0;
}

EXPORT int thrd_sleep(const struct timespec *t, struct timespec *rem)
{
    int r = clock_nanosleep(CLOCK_REALTIME, 0, t, rem);
    return r == 0 ? 0 : r == EINTR ? -1 : -2; /* C11 7.26.5.7, as in glibc */
}

/* ---- poll, select ---- */

static OWN_CALL int poll_on(struct pollfd *fds, nfds_t n, uint64_t deadline, wait_mark *m)
{
    int r;
    do {
        struct timespec left = wait_left(deadline);
        r = real.ppoll(fds, n, &left, NULL);
    } while (r == -1 && wait_again(m));
    return r;
}

static uint64_t start_of(int timeout_ms) { return timeout_ms > 0 ? wait_now() : 0; }

static uint64_t end_of(uint64_t start, int ms) { return start + (uint64_t)ms * 1000000; }

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    find_real();
    if (timeout < 0) return AGAIN(real.poll(fds, n, timeout));
    uint64_t start = start_of(timeout);
    wait_mark m = wait_begin();
    int r = real.poll(fds, n, timeout);
    return UNLIKELY(r == -1) && wait_again(&m) ? poll_on(fds, n, end_of(start, timeout), &m) : r;
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t bytes)
{
    find_real();
    if (timeout < 0) return AGAIN(real.__poll_chk(fds, n, timeout, bytes));
    uint64_t start = start_of(timeout);
    wait_mark m = wait_begin();
    int r = real.__poll_chk(fds, n, timeout, bytes);
    return UNLIKELY(r == -1) && wait_again(&m) ? poll_on(fds, n, end_of(start, timeout), &m) : r;
}

/* Repeats a call whose relative timeout t is in memory: in `call`, `t_` is the timeout of the first
 * attempt or the remaining time. */
#define AGAIN_FOR(t, call)                                                                         \
    ({                                                                                             \
        const struct timespec *t_ = (t);                                                           \
        struct timespec left_;                                                                     \
        uint64_t deadline_ = 0, start_ = t_ ? wait_now() : 0;                                      \
        wait_mark mark_ = wait_begin();                                                            \
        __typeof__(call) r_;                                                                       \
        while ((r_ = (call)) == -1 && wait_again(&mark_)) {                                        \
            if (!t_) continue;                                                                     \
            if (!deadline_) deadline_ = wait_until(start_, t_);                                    \
            left_ = wait_left(deadline_);                                                          \
            t_ = &left_;                                                                           \
        }                                                                                          \
        r_;                                                                                        \
    })

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    find_real();
    return AGAIN_FOR(timeout, real.ppoll(fds, n, t_, mask));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                       const sigset_t *mask, size_t bytes)
{
    find_real();
    return AGAIN_FOR(timeout, real.__ppoll_chk(fds, n, t_, mask, bytes));
}

/* The kernel stores the remaining time in *timeout, and libc truncates it to microseconds.  The
 * wrapper adds one microsecond, or the call would end slightly early.  Only a successful call
 * writes the sets. */
EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
    find_real();
    wait_mark m = wait_begin();
    int r;
    while ((r = real.select(n, in, out, except, timeout)) == -1 && wait_again(&m)) {
        if (!timeout) continue;
        timeout->tv_usec++;
        if (timeout->tv_usec >= 1000000) timeout->tv_usec = 0, timeout->tv_sec++;
    }
    return r;
}

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
                   const sigset_t *mask)
{
    find_real();
    return AGAIN_FOR(timeout, real.pselect(n, in, out, except, t_, mask));
}

/* ---- epoll ---- */

/* mask NULL: the mask of the thread, as in epoll_wait. */
static OWN_CALL int epoll_on(int ep, struct epoll_event *out, int max, const sigset_t *mask,
                             uint64_t deadline, wait_mark *m)
{
    bool finer = real.epoll_pwait2 != NULL;
    int r;
    do {
        struct timespec left = wait_left(deadline);
        r = finer ? real.epoll_pwait2(ep, out, max, &left, mask) : -1;
        finer = finer && (r != -1 || errno != ENOSYS); /* Linux 5.11 */
        if (!finer) r = real.epoll_pwait(ep, out, max, wait_left_ms(deadline), mask);
    } while (r == -1 && wait_again(m));
    return r;
}

EXPORT int epoll_wait(int ep, struct epoll_event *out, int max, int timeout)
{
    find_real();
    if (timeout < 0) return AGAIN(real.epoll_wait(ep, out, max, timeout));
    uint64_t start = start_of(timeout);
    wait_mark m = wait_begin();
    int r = real.epoll_wait(ep, out, max, timeout);
    if (LIKELY(r != -1) || !wait_again(&m)) return r;
    return epoll_on(ep, out, max, NULL, end_of(start, timeout), &m);
}

EXPORT int epoll_pwait(int ep, struct epoll_event *out, int max, int timeout, const sigset_t *mask)
{
    find_real();
    if (timeout < 0) return AGAIN(real.epoll_pwait(ep, out, max, timeout, mask));
    uint64_t start = start_of(timeout);
    wait_mark m = wait_begin();
    int r = real.epoll_pwait(ep, out, max, timeout, mask);
    if (LIKELY(r != -1) || !wait_again(&m)) return r;
    return epoll_on(ep, out, max, mask, end_of(start, timeout), &m);
}

EXPORT int epoll_pwait2(int ep, struct epoll_event *out, int max, const struct timespec *timeout,
                        const sigset_t *mask)
{
    find_real();
    if (!real.epoll_pwait2) return not_supported(); /* before glibc 2.35 */
    return AGAIN_FOR(timeout, real.epoll_pwait2(ep, out, max, t_, mask));
}

/* ---- semaphores, System V IPC, asynchronous I/O ---- */

EXPORT int sem_wait(sem_t *s)
{
    find_real();
    return AGAIN(real.sem_wait(s));
}

EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
    find_real();
    return AGAIN(real.sem_timedwait(s, until));
}

EXPORT int sem_clockwait(sem_t *restrict s, clockid_t clock, const struct timespec *restrict until)
{
    find_real();
    if (!real.sem_clockwait) return not_supported();
    return AGAIN(real.sem_clockwait(s, clock, until));
}

EXPORT int semop(int id, struct sembuf *ops, size_t n)
{
    find_real();
    return AGAIN(real.semop(id, ops, n));
}

EXPORT int semtimedop(int id, struct sembuf *ops, size_t n, const struct timespec *timeout)
{
    find_real();
    return AGAIN_FOR(timeout, real.semtimedop(id, ops, n, t_));
}

EXPORT int msgsnd(int id, const void *message, size_t n, int flags)
{
    find_real();
    return AGAIN(real.msgsnd(id, message, n, flags));
}

EXPORT ssize_t msgrcv(int id, void *message, size_t n, long type, int flags)
{
    find_real();
    return AGAIN(real.msgrcv(id, message, n, type, flags));
}

EXPORT int aio_suspend(const struct aiocb *const list[], int n, const struct timespec *timeout)
{
    find_real();
    if (!real.aio_suspend) return not_supported(); /* before glibc 2.34, without librt */
    return AGAIN_FOR(timeout, real.aio_suspend(list, n, t_));
}

/* aio_suspend above is aio_suspend64 because of _FILE_OFFSET_BITS; this is the plain name. */
extern __typeof__(aio_suspend) plain_aio_suspend __asm__("aio_suspend")
    __attribute__((nothrow, leaf, alias("aio_suspend64"), visibility("default")));

/* ---- waits for a handler of the program ---- */

EXPORT int pause(void)
{
    find_real();
    return AGAIN(real.pause());
}

EXPORT int sigsuspend(const sigset_t *mask)
{
    find_real();
    return AGAIN(real.sigsuspend(mask));
}
