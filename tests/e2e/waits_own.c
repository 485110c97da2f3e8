/* Behaviour that the agent must leave to a program that waits, for agent_waits.
 *
 *   waits_own alarms N [raw]   a timer of the program interrupts each call; raw: a direct system call installs its handler
 *   waits_own handlers         the handlers that sigaction and related functions report
 *   waits_own edges N          invalid pointers, cancellation, errno, large writes
 *
 * alarms prints one line per call: name, calls, interrupted, late, returned before the alarm. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NS = 1000000000 };

static int64_t now_of(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static void *busy(void *arg)
{
    for (volatile unsigned long i = 0;; i++) continue;
    return arg;
}

#define CHECK(x)                                                                                   \
    do                                                                                             \
        if (!(x)) printf("not: %s\n", #x), bad = 1;                                                \
    while (0)

/* ---- alarms of the program ---- */

static _Atomic long rung;

static void on_alarm(int sig)
{
    (void)sig;
    rung++;
}

/* Installs a handler by a direct system call, as some runtimes do; the agent does not notice it. */
static void install_raw(void)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } a;
    syscall(SYS_rt_sigaction, SIGALRM, NULL, &a, sizeof a.mask);
    a.handler = (void *)(uintptr_t)on_alarm;
    syscall(SYS_rt_sigaction, SIGALRM, &a, NULL, sizeof a.mask);
}

/* Each call lasts a second unless the alarm interrupts it after 2 ms. */
static int interrupted(int which)
{
    struct timespec s = {1, 0};
    struct timeval v = {1, 0};
    sigset_t none;
    sigemptyset(&none);
    switch (which) {
    case 0: return poll(NULL, 0, 1000) < 0 && errno == EINTR;
    case 1:
        return nanosleep(&s, &s) < 0 && errno == EINTR && s.tv_sec == 0 && s.tv_nsec > 500000000;
    case 2: return select(0, NULL, NULL, NULL, &v) < 0 && errno == EINTR;
    case 3: return ppoll(NULL, 0, &s, &none) < 0 && errno == EINTR;
    case 4: return clock_nanosleep(CLOCK_MONOTONIC, 0, &s, &s) == EINTR;
    case 5: return usleep(999999) < 0 && errno == EINTR;
    case 6: return sleep(1) == 0 && rung; /* rounded to seconds: the measured time decides */
    case 7: return pause() < 0 && errno == EINTR;
    case 8: return sigsuspend(&none) < 0 && errno == EINTR;
    default: return 1;
    }
}

static const char *const interruptible[] = {"poll",  "nanosleep",       "select",
                                            "ppoll", "clock_nanosleep", "usleep",
                                            "sleep", "pause",           "sigsuspend"};

/* The alarm is blocked except in ppoll and sigsuspend, so that none is lost between arming and waiting. */
static int alarms(long n, int raw)
{
    struct sigaction a = {.sa_handler = on_alarm};
    sigset_t alrm, before;
    sigemptyset(&alrm), sigaddset(&alrm, SIGALRM);
    sigaction(SIGALRM, &a, NULL);
    if (raw) install_raw();
    pthread_t t;
    pthread_create(&t, NULL, busy, NULL);
    pthread_kill(t, 0);
    for (int which = 0; which < 9; which++) {
        long got = 0, late = 0, lost = 0;
        int masked = which == 3 || which == 8;
        if (masked) pthread_sigmask(SIG_BLOCK, &alrm, &before);
        for (long i = 0; i < n; i++) {
            struct itimerval in = {.it_value = {0, 2000},
                                   .it_interval = {0, 2000}}; /* the first may come early */
            long had = rung;
            int64_t start = now_of(CLOCK_MONOTONIC);
            setitimer(ITIMER_REAL, &in, NULL);
            int ok = interrupted(which);
            setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
            got += ok && rung > had;
            lost += rung == had; /* the call returned before the alarm */
            late += now_of(CLOCK_MONOTONIC) - start > NS / 2;
        }
        if (masked) pthread_sigmask(SIG_SETMASK, &before, NULL);
        printf("%s %ld %ld %ld %ld\n", interruptible[which], n, got, late, lost);
    }
    return 0;
}

/* ---- handlers ---- */

static _Atomic int plain_got, info_got;
static void plain(int sig) { plain_got += sig; }
static void info(int sig, siginfo_t *si, void *context)
{
    info_got += si->si_signo == sig && si->si_pid == getpid() && context ? sig : 1000;
}

static int handlers(void)
{
    struct sigaction a = {.sa_sigaction = info,
                          .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_NODEFER)},
                     old;
    sigaddset(&a.sa_mask, SIGUSR2);
    int bad = 0;
    CHECK(signal(SIGUSR1, plain) == SIG_DFL);
    CHECK(signal(SIGUSR1, plain) == plain);
    raise(SIGUSR1);
    CHECK(plain_got == SIGUSR1);
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == plain &&
          old.sa_flags & SA_RESTART);
    CHECK(sigaction(SIGUSR1, &a, &old) == 0 && old.sa_handler == plain);
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_sigaction == info &&
          sigismember(&old.sa_mask, SIGUSR2) == 1);
    unsigned known = SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_RESTART;
    CHECK(((unsigned)old.sa_flags & known) == (SA_SIGINFO | SA_RESETHAND | SA_NODEFER));
    raise(SIGUSR1);
    CHECK(info_got == SIGUSR1);
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(signal(SIGUSR1, SIG_IGN) == SIG_DFL && signal(SIGUSR1, SIG_DFL) == SIG_IGN);
    CHECK(sysv_signal(SIGUSR2, plain) == SIG_DFL);
    raise(SIGUSR2);
    CHECK(plain_got == SIGUSR1 + SIGUSR2);
    CHECK(signal(SIGUSR2, SIG_DFL) == SIG_DFL); /* it was reset */
    puts(bad ? "handlers differ" : "handlers as installed");
    return bad;
}

/* ---- edges ---- */

/* Waits indefinitely, in a call that is a cancellation point. */
static void *cancelled(void *which)
{
    struct timespec long_time = {1000, 0};
    struct timeval timeout = {1000, 0};
    struct epoll_event e;
    int fds[2];
    char c;
    switch ((int)(intptr_t)which) {
    case 0: poll(NULL, 0, 1000000); break;
    case 1: sleep(1000); break;
    case 2: usleep(900000000); break;
    case 3: nanosleep(&long_time, NULL); break;
    case 4: select(0, NULL, NULL, NULL, NULL); break;
    case 5: return pipe(fds) == 0 && read(fds[0], &c, 1) == 1 ? which : NULL;
    case 6:
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) return NULL;
        setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        recv(fds[0], &c, 1, 0);
        break;
    case 7: pause(); break;
    case 8: epoll_wait(epoll_create1(0), &e, 1, -1); break;
    default: break;
    }
    return NULL;
}

static void *read_all(void *arg)
{
    char bytes[1000];
    intptr_t n = 0;
    for (ssize_t r; (r = read((int)(intptr_t)arg, bytes, sizeof bytes)) > 0;) n += r;
    return (void *)n;
}

/* A blocking write transfers everything, as long as no handler of the program runs. */
static int large_writes(int fds[2], int by_send, long times)
{
    enum { LARGE = 1 << 20 };
    char *bytes = calloc(1, LARGE);
    pthread_t t;
    void *got;
    int cut = 0;
    pthread_create(&t, NULL, read_all, (void *)(intptr_t)fds[0]);
    for (long i = 0; i < times; i++)
        cut += (by_send ? send(fds[1], bytes, LARGE, 0) : write(fds[1], bytes, LARGE)) != LARGE;
    close(fds[1]);
    pthread_join(t, &got);
    free(bytes);
    return cut || (intptr_t)got != times * LARGE;
}

static int edges(long n)
{
    void *nowhere = (void *)8;
    struct timespec t = {0, 1000000}, wrong = {0, -1};
    int fds[2], bad = 0;
    pthread_t b;
    pthread_create(&b, NULL, busy, NULL);
    CHECK(nanosleep(nowhere, NULL) == -1 && errno == EFAULT);
    CHECK(nanosleep(&wrong, NULL) == -1 && errno == EINVAL);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, nowhere, NULL) == EFAULT);
    CHECK(syscall(SYS_ppoll, NULL, 0, nowhere, NULL, 8) == -1 && errno == EFAULT);
    CHECK(syscall(9999) == -1 && errno == ENOSYS);
    CHECK(syscall(-1L) == -1 && errno == ENOSYS);
    CHECK(syscall(SYS_getpid) == getpid());
    for (long i = 0; i < n; i++) {
        for (volatile int k = 0; k < 100000; k++) continue;
        errno = EXDEV;
        CHECK(nanosleep(&t, &t) == 0 && t.tv_nsec == 1000000 && errno == EXDEV);
    }
    for (intptr_t i = 0; i < 9; i++) {
        pthread_t waits;
        void *result;
        pthread_create(&waits, NULL, cancelled, (void *)i);
        usleep(10000);
        pthread_cancel(waits);
        pthread_join(waits, &result);
        if (result != PTHREAD_CANCELED) printf("not cancelled: %d\n", (int)i), bad = 1;
    }
    CHECK(pipe(fds) == 0 && !large_writes(fds, 0, n));
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && !large_writes(fds, 1, n));
    puts(bad ? "edges differ" : "edges as without");
    return bad;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(mode, "handlers")) return handlers();
    if (!strcmp(mode, "alarms")) return alarms(n, argc > 3);
    if (!strcmp(mode, "edges")) return edges(n);
    return 2;
}
