/* A program that waits in every way that a signal could interrupt, for agent_waits.
 *
 *   waits_host calls N THREADS [NAME...]   each call N times in each thread, while another thread is busy
 *   waits_host sleeps N THREADS            sleep(1)
 *   waits_host raw N THREADS               some of the calls as direct system calls
 *
 * Prints one line per call: name, calls, failures with EINTR, early returns, other failures. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { NS = 1000000000, WAIT_MS = 1 };

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t bytes);

static int64_t now_of(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static struct timespec ms(int64_t n) { return (struct timespec){n / 1000, n % 1000 * 1000000}; }

static struct timespec at(int64_t ns) { return (struct timespec){ns / NS, ns % NS}; }

/* ---- objects to wait for ---- */

typedef struct place {
    int pipe[2], sockets[2], full[2], listener, epoll, semaphores, queue;
    aio_context_t aio;
    sem_t sem;
    _Atomic uint32_t word;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t self, helper;
    _Atomic int stop;
} place;

static _Thread_local _Atomic int handled;

static void on_usr1(int sig)
{
    (void)sig;
    handled++;
}

/* Wakes calls that have no timeout. */
static void *help(void *arg)
{
    place *p = arg;
    struct sembuf up = {0, 1, IPC_NOWAIT};
    struct {
        long type;
        char c;
    } m = {1, 'x'};
    while (!p->stop) {
        struct timespec t = ms(WAIT_MS);
        nanosleep(&t, NULL);
        semop(p->semaphores, &up, 1);
        msgsnd(p->queue, &m, 1, IPC_NOWAIT);
        sem_post(&p->sem);
    }
    return NULL;
}

static void timeouts(int fd)
{
    struct timeval t = {0, WAIT_MS * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static void open_place(place *p)
{
    char c[4096] = {0};
    memset(p, 0, sizeof *p);
    if (pipe(p->pipe) || socketpair(AF_UNIX, SOCK_STREAM, 0, p->sockets) ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, p->full))
        exit(2);
    p->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listen(p->listener, 4)) exit(2);
    while (send(p->full[0], c, sizeof c, MSG_DONTWAIT) > 0) continue;
    timeouts(p->sockets[0]), timeouts(p->full[0]), timeouts(p->listener);
    p->epoll = epoll_create1(0);
    struct epoll_event e = {.events = EPOLLIN};
    epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->pipe[0], &e);
    p->semaphores = semget(IPC_PRIVATE, 2, 0600);
    p->queue = msgget(IPC_PRIVATE, 0600);
    if (syscall(SYS_io_setup, 4, &p->aio) != 0) p->aio = 0;
    sem_init(&p->sem, 0, 0);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&p->cond, &a);
    p->self = pthread_self();
}

static void close_place(place *p)
{
    semctl(p->semaphores, 0, IPC_RMID);
    msgctl(p->queue, IPC_RMID, NULL);
    if (p->aio) syscall(SYS_io_destroy, p->aio);
}

/* ---- calls: return 0, or the error ---- */

#define RESULT(call) ((call) < 0 ? errno : 0)
#define CALL(name) static int call_##name(place *p)
#define UNUSED (void)p

/* One call per line where it fits. */
/* clang-format off */
CALL(usleep) { UNUSED; return RESULT(usleep(WAIT_MS * 1000)); }
CALL(nanosleep) { UNUSED; struct timespec t = ms(WAIT_MS); return RESULT(nanosleep(&t, &t)); }
CALL(clock_nanosleep) { UNUSED; struct timespec t = ms(WAIT_MS); return clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL); }
CALL(clock_nanosleep_boot) { UNUSED; struct timespec t = ms(WAIT_MS); return clock_nanosleep(CLOCK_BOOTTIME, 0, &t, NULL); }
CALL(clock_nanosleep_abs)
{
    UNUSED;
    struct timespec t = at(now_of(CLOCK_MONOTONIC) + WAIT_MS * 1000000);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}
CALL(thrd_sleep) { UNUSED; struct timespec t = ms(WAIT_MS); return thrd_sleep(&t, NULL) == -1 ? EINTR : 0; }
CALL(poll) { struct pollfd f = {p->pipe[0], POLLIN, 0}; return RESULT(poll(&f, 1, WAIT_MS)); }
CALL(poll_chk) { struct pollfd f = {p->pipe[0], POLLIN, 0}; return RESULT(__poll_chk(&f, 1, WAIT_MS, sizeof f)); }
CALL(ppoll) { struct pollfd f = {p->pipe[0], POLLIN, 0}; struct timespec t = ms(WAIT_MS); return RESULT(ppoll(&f, 1, &t, NULL)); }
CALL(select)
{
    fd_set in;
    FD_ZERO(&in);
    FD_SET(p->pipe[0], &in);
    struct timeval t = {0, WAIT_MS * 1000};
    return RESULT(select(p->pipe[0] + 1, &in, NULL, NULL, &t));
}
CALL(pselect)
{
    fd_set in;
    FD_ZERO(&in);
    FD_SET(p->pipe[0], &in);
    struct timespec t = ms(WAIT_MS);
    return RESULT(pselect(p->pipe[0] + 1, &in, NULL, NULL, &t, NULL));
}
CALL(epoll_wait) { struct epoll_event e; return RESULT(epoll_wait(p->epoll, &e, 1, WAIT_MS)); }
CALL(epoll_pwait)
{
    struct epoll_event e;
    sigset_t none;
    sigemptyset(&none);
    return RESULT(epoll_pwait(p->epoll, &e, 1, WAIT_MS, &none));
}
CALL(epoll_pwait2)
{
    struct epoll_event e;
    struct timespec t = ms(WAIT_MS);
    return RESULT(epoll_pwait2(p->epoll, &e, 1, &t, NULL));
}
CALL(sem_clockwait)
{
    struct timespec t = at(now_of(CLOCK_MONOTONIC) + WAIT_MS * 1000000);
    sem_t never;
    UNUSED;
    sem_init(&never, 0, 0);
    return sem_clockwait(&never, CLOCK_MONOTONIC, &t) < 0 && errno != ETIMEDOUT ? errno : 0;
}
CALL(sem_timedwait) /* its clock may be adjusted: allows 20 us */
{
    struct timespec t = at(now_of(CLOCK_REALTIME) + WAIT_MS * 1000000 + 20000);
    sem_t never;
    UNUSED;
    sem_init(&never, 0, 0);
    return sem_timedwait(&never, &t) < 0 && errno != ETIMEDOUT ? errno : 0;
}
CALL(sigtimedwait)
{
    sigset_t set;
    struct timespec t = ms(WAIT_MS);
    UNUSED;
    sigemptyset(&set), sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &t) < 0 && errno != EAGAIN ? errno : 0;
}
#define TIMED(call) ((call) < 0 && errno != EAGAIN ? errno : 0)
CALL(recv_timeout) { char c; return TIMED(recv(p->sockets[0], &c, 1, 0)); }
CALL(recvfrom_timeout) { char c; return TIMED(recvfrom(p->sockets[0], &c, 1, 0, NULL, NULL)); }
CALL(recvmsg_timeout) { struct msghdr m = {0}; return TIMED(recvmsg(p->sockets[0], &m, 0)); }
CALL(read_timeout) { char c; return TIMED(read(p->sockets[0], &c, 1)); }
CALL(send_timeout) { char c = 0; return TIMED(send(p->full[0], &c, 1, 0)); }
CALL(write_timeout) { char c = 0; return TIMED(write(p->full[0], &c, 1)); }
CALL(accept_timeout) { return TIMED(accept(p->listener, NULL, NULL)); }
CALL(semtimedop)
{
    struct sembuf down = {1, -1, 0};
    struct timespec t = ms(WAIT_MS);
    return TIMED(semtimedop(p->semaphores, &down, 1, &t));
}
CALL(cond_timedwait)
{
    struct timespec t = at(now_of(CLOCK_MONOTONIC) + WAIT_MS * 1000000);
    pthread_mutex_lock(&p->lock);
    int r = pthread_cond_timedwait(&p->cond, &p->lock, &t);
    pthread_mutex_unlock(&p->lock);
    return r == ETIMEDOUT ? 0 : r;
}
CALL(syscall_io_getevents)
{
    struct io_event e;
    struct timespec t = ms(WAIT_MS);
    if (!p->aio) return call_nanosleep(p);
    return RESULT(syscall(SYS_io_getevents, p->aio, 1, 1, &e, &t));
}
CALL(syscall_futex)
{
    struct timespec t = ms(WAIT_MS);
    return syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0) < 0 &&
                   errno != ETIMEDOUT
               ? errno
               : 0;
}
CALL(syscall_futex_bitset)
{
    struct timespec t = at(now_of(CLOCK_MONOTONIC) + WAIT_MS * 1000000);
    return syscall(SYS_futex, &p->word, FUTEX_WAIT_BITSET_PRIVATE, 0, &t, NULL,
                   FUTEX_BITSET_MATCH_ANY) < 0 &&
                   errno != ETIMEDOUT
               ? errno
               : 0;
}
CALL(syscall_ppoll)
{
    struct pollfd f = {p->pipe[0], POLLIN, 0};
    struct timespec t = ms(WAIT_MS);
    return RESULT(syscall(SYS_ppoll, &f, 1, &t, NULL, 8));
}
CALL(syscall_epoll_pwait) { struct epoll_event e; return RESULT(syscall(SYS_epoll_pwait, p->epoll, &e, 1, WAIT_MS, NULL, 8)); }
CALL(syscall_nanosleep) { UNUSED; struct timespec t = ms(WAIT_MS); return RESULT(syscall(SYS_nanosleep, &t, &t)); }
CALL(syscall_clock_nanosleep)
{
    UNUSED;
    struct timespec t = ms(WAIT_MS);
    return RESULT(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL));
}

/* These end when the helper thread wakes them. */
CALL(sem_wait) { return RESULT(sem_wait(&p->sem)); }
CALL(semop) { struct sembuf down = {0, -1, 0}; return RESULT(semop(p->semaphores, &down, 1)); }
CALL(msgrcv) { struct { long type; char c; } m; return RESULT(msgrcv(p->queue, &m, 1, 0, 0)); }
/* clang-format on */

typedef struct wait_call {
    const char *name;
    int (*call)(place *p);
    int forever;
} wait_call;

#define TIMED_CALL(name)                                                                           \
    {                                                                                              \
#name, call_##name, 0                                                                      \
    }
#define HELPED_CALL(name)                                                                          \
    {                                                                                              \
#name, call_##name, 1                                                                      \
    }
static const wait_call calls[] = {
    TIMED_CALL(usleep),
    TIMED_CALL(nanosleep),
    TIMED_CALL(clock_nanosleep),
    TIMED_CALL(clock_nanosleep_boot),
    TIMED_CALL(clock_nanosleep_abs),
    TIMED_CALL(thrd_sleep),
    TIMED_CALL(poll),
    TIMED_CALL(poll_chk),
    TIMED_CALL(ppoll),
    TIMED_CALL(select),
    TIMED_CALL(pselect),
    TIMED_CALL(epoll_wait),
    TIMED_CALL(epoll_pwait),
    TIMED_CALL(epoll_pwait2),
    TIMED_CALL(sem_timedwait),
    TIMED_CALL(sem_clockwait),
    TIMED_CALL(sigtimedwait),
    TIMED_CALL(recv_timeout),
    TIMED_CALL(recvfrom_timeout),
    TIMED_CALL(recvmsg_timeout),
    TIMED_CALL(read_timeout),
    TIMED_CALL(send_timeout),
    TIMED_CALL(write_timeout),
    TIMED_CALL(accept_timeout),
    TIMED_CALL(semtimedop),
    TIMED_CALL(cond_timedwait),
    TIMED_CALL(syscall_io_getevents),
    TIMED_CALL(syscall_futex),
    TIMED_CALL(syscall_futex_bitset),
    TIMED_CALL(syscall_ppoll),
    TIMED_CALL(syscall_epoll_pwait),
    TIMED_CALL(syscall_nanosleep),
    TIMED_CALL(syscall_clock_nanosleep),
    HELPED_CALL(sem_wait),
    HELPED_CALL(semop),
    HELPED_CALL(msgrcv),
};
enum { CALLS = sizeof calls / sizeof *calls };

/* ---- counts ---- */

typedef struct count {
    _Atomic long calls, eintr, early, other;
} count;

static count counts[CALLS];
static int chosen[CALLS];
static long n_calls;

static void work(unsigned *seed)
{
    int64_t end = now_of(CLOCK_MONOTONIC) + (rand_r(seed) % 200) * 1000;
    while (now_of(CLOCK_MONOTONIC) < end) continue;
}

static void one(const wait_call *c, place *p, count *n)
{
    int64_t start = now_of(CLOCK_MONOTONIC);
    int error = c->call(p);
    int64_t took = now_of(CLOCK_MONOTONIC) - start;
    n->calls++;
    n->eintr += error == EINTR;
    n->other += error && error != EINTR;
    n->early += !error && !c->forever && took < WAIT_MS * 1000000;
}

static void *wait_all(void *arg)
{
    place p;
    unsigned seed = (unsigned)(uintptr_t)arg;
    open_place(&p);
    sigset_t usr2;
    sigemptyset(&usr2), sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, NULL);
    for (int i = 0; i < CALLS; i++) {
        if (!chosen[i]) continue;
        p.stop = 0;
        if (calls[i].forever) pthread_create(&p.helper, NULL, help, &p);
        for (long k = 0; k < n_calls; k++) {
            work(&seed);
            one(&calls[i], &p, &counts[i]);
        }
        p.stop = 1;
        if (calls[i].forever) pthread_join(p.helper, NULL);
    }
    close_place(&p);
    return NULL;
}

static void *busy(void *arg)
{
    for (volatile unsigned long i = 0;; i++) continue;
    return arg;
}

static void in_threads(void *(*run)(void *), int n)
{
    pthread_t t[256];
    pthread_create(&t[0], NULL, busy, NULL);
    for (long i = 1; i < n; i++) pthread_create(&t[i], NULL, run, (void *)i);
    run(NULL);
    for (int i = 1; i < n; i++) pthread_join(t[i], NULL);
}

static void print(const char *name, const count *n)
{
    printf("%s %ld %ld %ld %ld\n", name, n->calls, n->eintr, n->early, n->other);
}

/* ---- sleep(1) ---- */

static count slept;

static void *sleep_often(void *arg)
{
    for (long i = 0; i < n_calls; i++) {
        int64_t start = now_of(CLOCK_MONOTONIC);
        unsigned left = sleep(1);
        slept.calls++;
        slept.eintr += left != 0;
        slept.early += !left && now_of(CLOCK_MONOTONIC) - start < NS;
    }
    return arg;
}

/* ---- direct system calls ---- */

#if defined(__x86_64__)
static long instruction(long nr, long a, long b, long c, long d)
{
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return r;
}
#else
static long instruction(long nr, long a, long b, long c, long d)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}
#endif

static count raw_counts[3];

static void *wait_raw(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    uint32_t word = 0;
    for (long k = 0; k < 3 * n_calls; k++) {
        struct timespec t = ms(WAIT_MS);
        work(&seed);
        long r = k % 3 == 0 ? instruction(SYS_nanosleep, (long)&t, 0, 0, 0)
                 : k % 3 == 1
                     ? instruction(SYS_ppoll, 0, 0, (long)&t, 0)
                     : instruction(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, (long)&t);
        raw_counts[k % 3].calls++;
        raw_counts[k % 3].eintr += r == -EINTR;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = on_usr1};
    const char *mode = argc > 1 ? argv[1] : "";
    n_calls = argc > 2 ? atol(argv[2]) : 0;
    int threads = argc > 3 ? atoi(argv[3]) : 1;
    if (threads < 1 || threads > 255) return 2;
    sigaction(SIGUSR1, &a, NULL); /* a program with handlers is the harder case */
    if (!strcmp(mode, "calls")) {
        for (int i = 0; i < CALLS; i++) {
            chosen[i] = argc <= 4;
            for (int k = 4; k < argc; k++) chosen[i] |= !strcmp(argv[k], calls[i].name);
        }
        in_threads(wait_all, threads);
        for (int i = 0; i < CALLS; i++)
            if (chosen[i]) print(calls[i].name, &counts[i]);
    } else if (!strcmp(mode, "sleeps")) {
        in_threads(sleep_often, threads);
        print("sleep", &slept);
    } else if (!strcmp(mode, "raw")) {
        static const char *const names[] = {"nanosleep", "ppoll", "futex"};
        in_threads(wait_raw, threads);
        for (int i = 0; i < 3; i++) print(names[i], &raw_counts[i]);
    } else {
        return 2;
    }
    return 0;
}
