/* tests/torture/signals.c - programs that use signals. */
#include "torture.h"

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>

static void handle(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a = {.sa_sigaction = f, .sa_flags = SA_SIGINFO | flags};
    sigfillset(&a.sa_mask);
    MUST(!sigaction(sig, &a, NULL));
}

static void send_to_thread(int sig, int value)
{
    siginfo_t info = {.si_signo = sig, .si_code = SI_QUEUE};
    info.si_pid = getpid(), info.si_uid = getuid(), info.si_value.sival_int = value;
    MUST(!syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), sig, &info));
}

/* ---- masks ---- */

/* Returns the number of signals that the mask does not block.  libc removes its own signals from
 * every mask, and a profiler may also remove one or two unused ones. */
static unsigned not_blocked(const sigset_t *set)
{
    unsigned n = 0;
    for (int s = 1; s <= SIGRTMAX; s++) {
        if (s == SIGKILL || s == SIGSTOP || (s >= 32 && s < SIGRTMIN) || sigismember(set, s) == 1)
            continue;
        MUST(s == SIGSTKFLT || s >= SIGRTMIN);
        n++;
    }
    return n;
}

/* Blocks and unblocks all signals in turn, and works in both states. */
static int mask_games(torture *t)
{
    torture_crowd(2, true);
    sigset_t all, old;
    sigfillset(&all);
    for (unsigned i = 0; torture_round(t, &i, 300);) {
        MUST(!pthread_sigmask(SIG_SETMASK, &all, &old));
        torture_spin_us((unsigned)(torture_random(t) % 800));
        sigset_t seen;
        MUST(!pthread_sigmask(SIG_BLOCK, NULL, &seen));
        MUST(not_blocked(&seen) <= 2);
        MUST(!pthread_sigmask(SIG_SETMASK, &old, NULL));
        torture_spin_us((unsigned)(torture_random(t) % 400));
    }
    torture_crowd_leave();
    return 0;
}

static uint64_t got[65];

static void *takes_all(void *p)
{
    sigset_t all;
    sigfillset(&all);
    for (siginfo_t info;;) {
        int s = sigwaitinfo(&all, &info);
        if (s < 0) {
            MUST(errno == EINTR);
            continue;
        }
        got[s]++;
        if (s == SIGTERM) return p;
        torture_spin_us(100);
    }
}

static void print_got(void)
{
    for (int s = 1; s < 65; s++)
        if (got[s]) printf("%d: %llu\n", s, (unsigned long long)got[s]);
}

static bool any_realtime(const sigset_t *s)
{
    bool any = false;
    for (int i = SIGRTMIN; i < SIGRTMIN + 20; i++) any |= sigismember(s, i) == 1;
    return any;
}

/* One thread receives all signals of the process, as in many servers.  Only the program's own
 * signals arrive. */
static int wait_all(torture *t)
{
    sigset_t all;
    sigfillset(&all);
    MUST(!pthread_sigmask(SIG_SETMASK, &all, NULL));
    pthread_t taker;
    MUST(!pthread_create(&taker, NULL, takes_all, NULL));
    torture_crowd(2, true); /* all threads block all signals */
    for (unsigned i = 0; torture_round(t, &i, 300);) {
        union sigval v = {.sival_int = (int)i};
        MUST(!sigqueue(getpid(), SIGRTMIN + (int)(i % 20), v));
        torture_spin_us(300);
    }
    torture_crowd_leave();
    for (sigset_t pending; !sigpending(&pending) && any_realtime(&pending);)
        torture_sleep_us(1000); /* SIGTERM would be delivered before them */
    kill(getpid(), SIGTERM);
    MUST(!pthread_join(taker, NULL));
    print_got();
    return 0;
}

static int signal_fd(torture *t)
{
    sigset_t all;
    sigfillset(&all);
    MUST(!pthread_sigmask(SIG_SETMASK, &all, NULL));
    int fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    MUST(fd >= 0);
    torture_crowd(2, false);
    for (unsigned i = 0; torture_round(t, &i, 300);) {
        union sigval v = {.sival_int = (int)i};
        MUST(!sigqueue(getpid(), SIGRTMIN + (int)(i % 20), v));
        torture_spin_us(300);
        for (struct signalfd_siginfo info; read(fd, &info, sizeof info) == sizeof info;)
            got[info.ssi_signo]++;
    }
    close(fd);
    torture_crowd_leave();
    print_got();
    return 0;
}

/* ---- handlers of the program ---- */

static atomic_uint handled[65], strange;
static void counts(int sig, siginfo_t *info, void *uc)
{
    (void)uc;
    if (info->si_code != SI_QUEUE || info->si_value.sival_int != 4711)
        atomic_fetch_add(&strange, 1);
    else
        atomic_fetch_add(&handled[sig], 1);
}

/* Handles all real-time signals and sends each to itself: all arrive, and no others. */
static int all_realtime(torture *t)
{
    torture_crowd(2, false);
    torture_spin_us(20000);
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) handle(s, counts, SA_RESTART);
    unsigned sent = 0;
    for (unsigned i = 0; torture_round(t, &i, 100);) {
        for (int s = SIGRTMIN; s <= SIGRTMAX; s++) send_to_thread(s, 4711);
        torture_spin_us(1000);
        sent++;
    }
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) MUST(atomic_load(&handled[s]) == sent);
    torture_crowd_leave();
    printf("%u of each, %u strange\n", sent, atomic_load(&strange));
    return 0;
}

/* sigaction returns what the program has set. */
static int asks_realtime(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 20);) {
        for (int s = SIGRTMIN; s <= SIGRTMAX; s++) {
            handle(s, counts, 0);
            struct sigaction a;
            MUST(!sigaction(s, NULL, &a) && a.sa_sigaction == counts);
            MUST(signal(s, SIG_IGN) != SIG_ERR);
            MUST(signal(s, SIG_DFL) == SIG_IGN);
        }
        torture_spin_us(2000);
    }
    return 0;
}

static atomic_ulong ticks;
static void tick(int sig, siginfo_t *info, void *uc)
{
    (void)sig, (void)info, (void)uc;
    atomic_fetch_add(&ticks, 1);
}

static void every_us(__itimer_which_t which, int us)
{
    struct itimerval v = {{0, us}, {0, us}};
    MUST(!setitimer(which, &v, NULL));
}

/* Runs another profiler, with SIGPROF and the timer of the process. */
static int other_profiler(torture *t)
{
    handle(SIGPROF, tick, SA_RESTART);
    every_us(ITIMER_PROF, 1000);
    torture_crowd(2, true);
    for (unsigned i = 0; torture_round(t, &i, 20);) torture_spin_us(10000);
    every_us(ITIMER_PROF, 0);
    torture_crowd_leave();
    MUST(atomic_load(&ticks) > 0);
    return 0;
}

/* Another profiler with a timer for each thread and a real-time signal, like the agent. */
static void *with_timer(void *p)
{
    int sig = SIGRTMIN + 3;
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
    e.sigev_notify_thread_id = gettid();
    timer_t timer;
    MUST(!timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &timer));
    struct itimerspec v = {{0, 1000000}, {0, 1000000}};
    MUST(!timer_settime(timer, 0, &v, NULL));
    torture_spin_us(60000);
    MUST(!timer_delete(timer));
    return p;
}

static int other_timers(torture *t)
{
    handle(SIGRTMIN + 3, tick, SA_RESTART);
    for (unsigned i = 0; torture_round(t, &i, 4);) {
        pthread_t threads[3];
        for (size_t k = 0; k < 3; k++) MUST(!pthread_create(&threads[k], NULL, with_timer, NULL));
        for (size_t k = 0; k < 3; k++) MUST(!pthread_join(threads[k], NULL));
    }
    MUST(atomic_load(&ticks) > 0);
    return 0;
}

/* Handlers interrupt malloc, and are interrupted. */
static void busy_handler(int sig, siginfo_t *info, void *uc)
{
    tick(sig, info, uc);
    for (volatile int i = 0; i < 20000; i++) {}
}

static int amid_malloc(torture *t)
{
    struct sigaction a = {.sa_sigaction = busy_handler,
                          .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    MUST(!sigaction(SIGALRM, &a, NULL));
    every_us(ITIMER_REAL, 500);
    torture_crowd(3, true);
    uint64_t sum = 0;
    for (unsigned i = 0; torture_round(t, &i, 200);) sum += torture_malloc(torture_random(t), 2000);
    every_us(ITIMER_REAL, 0);
    torture_crowd_leave();
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

/* ---- interrupted waits ---- */

/* The program handles timeouts and EINTR.  No data is lost, and a repeated wait ends. */
static void *writes_slowly(void *p)
{
    int fd = *(int *)p;
    for (int i = 0; i < 100; i++) {
        torture_sleep_us(500);
        MUST(write(fd, "x", 1) == 1);
    }
    close(fd);
    return NULL;
}

static int waits(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 4);) {
        int ends[2], n = 0;
        MUST(!pipe(ends));
        pthread_t writer;
        MUST(!pthread_create(&writer, NULL, writes_slowly, &ends[1]));
        int ep = epoll_create1(EPOLL_CLOEXEC);
        MUST(ep >= 0 &&
             !epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &(struct epoll_event){.events = EPOLLIN}));
        for (char c;;) {
            struct pollfd pf = {.fd = ends[0], .events = POLLIN};
            struct epoll_event ev;
            fd_set set;
            FD_ZERO(&set);
            FD_SET(ends[0], &set);
            int r = n % 3 == 0   ? poll(&pf, 1, 60000)
                    : n % 3 == 1 ? epoll_wait(ep, &ev, 1, 60000)
                                 : select(ends[0] + 1, &set, NULL, NULL, &(struct timeval){60, 0});
            if (r < 0) {
                MUST(errno == EINTR);
                continue;
            }
            MUST(r == 1);
            ssize_t m = read(ends[0], &c, 1); /* SA_RESTART: never EINTR */
            MUST(m >= 0);
            if (!m) break;
            n++;
        }
        MUST(n == 100);
        MUST(!pthread_join(writer, NULL));
        close(ends[0]), close(ep);
    }
    puts("100 each");
    return 0;
}

/* Locks, condition variables, semaphores and barriers while signals arrive. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static sem_t done;
static unsigned turn;

static void *takes_turns(void *p)
{
    unsigned me = (unsigned)(uintptr_t)p;
    for (unsigned i = 0; i < 300; i++) {
        MUST(!pthread_mutex_lock(&lock));
        while (turn % 4 != me) MUST(!pthread_cond_wait(&turned, &lock));
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
    }
    MUST(!sem_post(&done));
    return NULL;
}

static int locks(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 5);) {
        pthread_t threads[4];
        turn = 0;
        MUST(!sem_init(&done, 0, 0));
        for (uintptr_t k = 0; k < 4; k++)
            MUST(!pthread_create(&threads[k], NULL, takes_turns, (void *)k));
        for (int k = 0; k < 4; k++)
            while (sem_wait(&done)) MUST(errno == EINTR);
        for (size_t k = 0; k < 4; k++) MUST(!pthread_join(threads[k], NULL));
        MUST(turn == 1200);
    }
    return 0;
}

const torture_case signal_cases[] = {
    {"mask_games", mask_games},
    {"wait_all", wait_all},
    {"signal_fd", signal_fd},
    {"all_realtime", all_realtime},
    {"asks_realtime", asks_realtime},
    {"other_profiler", other_profiler},
    {"other_timers", other_timers},
    {"amid_malloc", amid_malloc},
    {"waits", waits},
    {"locks", locks},
    {NULL, NULL},
};
