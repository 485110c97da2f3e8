/* A program whose threads do what their names state, for capture_core:  capture_host CASE
 * [SECONDS] */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t over;
static double seconds = 1;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned long sink;
static int pipes[2];

static double clock_s(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Continues a sleep that a signal interrupted. */
static void rest(double s)
{
    for (double until = clock_s(CLOCK_MONOTONIC) + s; clock_s(CLOCK_MONOTONIC) < until;)
        usleep(10000);
}

static void *named(const char *name)
{
    pthread_setname_np(pthread_self(), name);
    return NULL;
}

__attribute__((noinline)) void spin_here(double until);
void spin_here(double until)
{
    while (!over && clock_s(CLOCK_MONOTONIC) < until)
        for (int i = 0; i < 20000; i++) sink += (unsigned long)i;
}

__attribute__((noinline)) void *spinner(void *arg);
void *spinner(void *arg)
{
    named("spinner");
    spin_here(clock_s(CLOCK_MONOTONIC) + seconds);
    printf("cpu spinner %.9f\n", clock_s(CLOCK_THREAD_CPUTIME_ID));
    return arg;
}

/* Uses this much CPU time, which takes longer on a loaded machine. */
static void alone(void)
{
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < seconds) spin_here(clock_s(CLOCK_MONOTONIC) + 0.05);
    printf("cpu spinner %.9f\n", clock_s(CLOCK_THREAD_CPUTIME_ID));
}

/* Prints how often its sleep was interrupted. */
__attribute__((noinline)) void *sleeper(void *arg);
void *sleeper(void *arg)
{
    named("sleeper");
    unsigned cut = 0;
    struct pollfd p = {pipes[0], POLLIN, 0};
    while (poll(&p, 1, -1) < 0 && errno == EINTR) cut++;
    printf("cut sleeper %u\n", cut);
    return arg;
}

__attribute__((noinline)) void *waiter(void *arg);
void *waiter(void *arg)
{
    named("waiter");
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return arg;
}

__attribute__((noinline)) void *deaf(void *arg);
void *deaf(void *arg)
{
    uint64_t all = ~(UINT64_C(3) << 31); /* all but libc's own */
    named("deaf");
    /* libc's function would leave the agent's signals unblocked */
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    spin_here(clock_s(CLOCK_MONOTONIC) + seconds);
    printf("cpu deaf %.9f\n", clock_s(CLOCK_THREAD_CPUTIME_ID));
    return arg;
}

/* Blocks all signals through libc: it can still be sampled, and prints the mask that it reads
 * back. */
__attribute__((noinline)) void *shy(void *arg);
void *shy(void *arg)
{
    sigset_t all, old;
    named("shy");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    spin_here(clock_s(CLOCK_MONOTONIC) + seconds);
    pthread_sigmask(SIG_SETMASK, NULL, &old);
    int seen = 0;
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) seen += sigismember(&old, s) == 1;
    printf("shy blocks %d\n", seen - (SIGRTMAX - SIGRTMIN + 1));
    return arg;
}

static void *odd(void *arg)
{
    char c;
    named("sl)p \"q");
    if (read(pipes[0], &c, 1) < 0) perror("read");
    return arg;
}

static void states(void)
{
    pthread_t t[6];
    pthread_mutex_lock(&held);
    void *(*what[])(void *) = {spinner, sleeper, waiter, deaf, odd, shy};
    for (int i = 0; i < 6; i++) pthread_create(&t[i], NULL, what[i], NULL);
    pthread_join(t[0], NULL);
    pthread_mutex_unlock(&held);
    close(pipes[1]);
    for (int i = 1; i < 6; i++) pthread_join(t[i], NULL);
}

static void *wait_for_end(void *arg)
{
    char c;
    while (read(pipes[0], &c, 1) < 0) continue;
    return arg;
}

static void crowd(void)
{
    enum { N = 500 };
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        if (pthread_create(&t[i], NULL, wait_for_end, NULL) != 0) abort();
    rest(seconds);
    close(pipes[1]);
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
}

static void *brief(void *arg)
{
    for (int i = 0; i < 2000; i++) sink += (unsigned long)i;
    if ((uintptr_t)arg % 3 == 0) pthread_exit(arg);
    return arg;
}

static void storm(void)
{
    double until = clock_s(CLOCK_MONOTONIC) + seconds;
    unsigned long n = 0;
    while (clock_s(CLOCK_MONOTONIC) < until) {
        pthread_t t[8];
        for (uintptr_t i = 0; i < 8; i++)
            if (pthread_create(&t[i], NULL, brief, (void *)i) != 0) abort();
        for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
        n += 8;
    }
    printf("threads %lu\n", n);
}

static void reap(const char *what, pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    printf("%s exit=%d signal=%d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    fflush(stdout);
}

__attribute__((noinline)) void child_spins(void);
void child_spins(void)
{
    spin_here(clock_s(CLOCK_MONOTONIC) + seconds);
    sink++;
}

static void forks(void)
{
    double until = clock_s(CLOCK_MONOTONIC) + seconds;
    pthread_t t;
    pthread_create(&t, NULL, spinner, NULL);
    for (int n = 0; clock_s(CLOCK_MONOTONIC) < until; n++) {
        pid_t pid = n % 2 ? vfork() : fork();
        if (pid == 0) {
            execl("/proc/self/exe", "capture_host", "quit", "7", NULL);
            _exit(99);
        }
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) printf("bad status %x\n", status);
        static char me[] = "capture_host", quit[] = "quit", code[] = "3";
        char *argv[] = {me, quit, code, NULL};
        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0) {
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) printf("bad spawn %x\n", status);
        }
    }
    pthread_join(t, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        child_spins();
        exit(5);
    }
    reap("child", pid);
}

/* Execs itself repeatedly, with another thread running: argv[3] counts down. */
static void execs(char **argv, int left)
{
    pthread_t t;
    char count[16];
    for (int i = 0; i < 2; i++) pthread_create(&t, NULL, spinner, NULL);
    execl("/nowhere/nothing", "x", NULL);
    spin_here(clock_s(CLOCK_MONOTONIC) + 0.02);
    if (left <= 0) _exit(11);
    snprintf(count, sizeof count, "%d", left - 1);
    char *again[] = {argv[0], argv[1], argv[2], count, NULL};
    execv("/proc/self/exe", again);
    _exit(98);
}

/* Execs from a signal handler that interrupts the start and end of threads; exec is allowed
 * there. */
static char **exec_argv;

static void on_alarm(int sig)
{
    (void)sig;
    execv("/proc/self/exe", exec_argv);
    _exit(98);
}

static void *nothing(void *arg) { return arg; }

static void execs_in_handler(char **argv, int left)
{
    static char count[16];
    static char *again[5];
    if (left <= 0) _exit(11);
    snprintf(count, sizeof count, "%d", left - 1);
    exec_argv = memcpy(again, (char *[]){argv[0], argv[1], argv[2], count, NULL}, sizeof again);
    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_NODEFER};
    struct itimerval soon = {.it_value.tv_usec = 1000 + left * 37 % 2000};
    sigset_t unblocked;
    sigemptyset(&unblocked);
    sigaddset(&unblocked, SIGALRM);
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    sigprocmask(SIG_UNBLOCK, &unblocked, NULL); /* exec keeps masks */
    for (pthread_t t[8];;) {
        int n = 0;
        while (n < 8 && pthread_create(&t[n], NULL, nothing, NULL) == 0)
            n++; /* fails once another thread is in exec */
        while (n) pthread_join(t[--n], NULL);
    }
}

static volatile sig_atomic_t n_taken, n_unsent;

static void on_taken(int sig, siginfo_t *si, void *context)
{
    (void)sig, (void)context;
    if (si->si_code == SI_TKILL)
        n_taken++;
    else
        n_unsent++; /* not sent by any process */
}

/* Installs handlers for all signals that the capture may use, as Go does. */
static void takes_signals(void)
{
    pthread_t t;
    int read_back = 0;
    struct sigaction mine = {.sa_sigaction = on_taken, .sa_flags = SA_SIGINFO | SA_RESTART}, now;
    pthread_create(&t, NULL, spinner, NULL);
    rest(0.3);
    sigaction(SIGSTKFLT, &mine, NULL);
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) sigaction(s, &mine, NULL);
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) {
        raise(s);
        read_back += sigaction(s, NULL, &now) == 0 && now.sa_sigaction == on_taken;
    }
    pthread_join(t, NULL);
    printf("got %d\nread %d\nodd %d\n", (int)n_taken, read_back, (int)n_unsent);
}

/* Resets every signal to its default, as daemons do, while other threads are sampled. */
static void resets(void)
{
    pthread_t t;
    pthread_create(&t, NULL, spinner, NULL);
    for (double until = clock_s(CLOCK_MONOTONIC) + seconds; clock_s(CLOCK_MONOTONIC) < until;) {
        struct sigaction plain = {.sa_handler = SIG_DFL}, old;
        for (int s = 1; s < 65; s++) {
            sigaction(s, &plain, &old);
            signal(s, SIG_DFL);
        }
        spin_here(clock_s(CLOCK_MONOTONIC) + 0.05);
    }
    pthread_join(t, NULL);
}

/* Waits for any signal; one is sent at the end. */
static void *sentinel(void *arg)
{
    sigset_t all;
    int sig = 0;
    named("sentinel");
    sigfillset(&all);
    sigwait(&all, &sig);
    printf("sentinel got %d\n", sig);
    return arg;
}

static void waits_for_signals(void)
{
    pthread_t t, spin;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&t, NULL, sentinel, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_create(&spin, NULL, spinner, NULL);
    pthread_join(spin, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
}

/* Closes descriptors that it did not open and opens others with the same numbers. */
static void closes(int keep)
{
    pthread_t t;
    pthread_create(&t, NULL, spinner, NULL);
    rest(seconds / 2);
    for (int fd = 3; fd < 8192; fd++)
        if (fd != keep) close(fd);
    int mine[600];
    for (int i = 0; i < 600; i++) mine[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pthread_join(t, NULL); /* its end closes its own event */
    int lost = 0;
    for (int i = 0; i < 600; i++) lost += mine[i] >= 0 && fcntl(mine[i], F_GETFD) < 0;
    printf("lost %d\n", lost);
}

/* Counts perf events of the agent among the program's descriptors; closes them if requested. */
static int events(bool closed)
{
    char path[32], to[64];
    int n = 0;
    for (int fd = 3; fd < 8192; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t k = readlink(path, to, sizeof to);
        if (k <= 0 || !memmem(to, (size_t)k, "perf_event", 10)) continue;
        n++;
        if (closed) close(fd);
    }
    return n;
}

/* Closes the agent's perf events, and waits until the agent has reopened them. */
static void closes_events(void)
{
    pthread_t t;
    double until = clock_s(CLOCK_MONOTONIC) + seconds;
    pthread_create(&t, NULL, spinner, NULL);
    while (!events(false) && clock_s(CLOCK_MONOTONIC) < until) rest(0.02);
    rest(0.1); /* waits for an event that is being opened just now */
    events(true);
    while (events(false) < 2 && clock_s(CLOCK_MONOTONIC) < until) rest(0.02);
    printf("again %d\n", events(false) >= 2);
    over = 1;
    pthread_join(t, NULL);
}

/* Checks that open(2) returns the lowest free number. */
static void opens(void)
{
    int odd = 0, lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest);
    for (double until = clock_s(CLOCK_MONOTONIC) + seconds; clock_s(CLOCK_MONOTONIC) < until;) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        odd += fd != lowest;
        close(fd);
    }
    printf("odd %d\n", odd);
}

/* Threads, created by thrd_create, that live for less than the time between two scans of /proc. */
__attribute__((noinline)) int brief_c11(void *arg);
int brief_c11(void *arg)
{
    named("c11");
    for (double until = clock_s(CLOCK_THREAD_CPUTIME_ID) + 0.1;
         clock_s(CLOCK_THREAD_CPUTIME_ID) < until;)
        sink++;
    return arg ? 7 : 0;
}

static void c11(void)
{
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        thrd_t t;
        int r = 0;
        if (thrd_create(&t, brief_c11, &seconds) == thrd_success) thrd_join(t, &r);
        sum += r;
    }
    printf("c11 sum %d\n", sum);
}

/* Prints the handlers of the real-time signals, before and after a call that stops the capture. */
static void asks(void)
{
    int taken[2] = {0};
    rest(0.1);
    for (int k = 0; k < 2; k++) {
        for (int s = SIGRTMIN; s <= SIGRTMAX; s++) {
            struct sigaction old;
            taken[k] += sigaction(s, NULL, &old) != 0 || old.sa_handler != SIG_DFL;
        }
        taken[k] += signal(SIGRTMAX, SIG_DFL) != SIG_DFL;
        if (!k) setns(-1, 0);
    }
    printf("asks taken %d\n", taken[0] + taken[1]);
}

__attribute__((noinline)) int deeper(int n);
int deeper(int n)
{
    if (n == 0) spin_here(clock_s(CLOCK_MONOTONIC) + seconds);
    int r = n ? deeper(n - 1) : 0;
    __asm__ volatile("" : "+r"(r)); /* prevents a tail call, which would become a loop */
    return r + 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "states";
    if (argc > 2) seconds = strtod(argv[2], NULL);
    if (pipe2(pipes, O_CLOEXEC) != 0) return 1;
    if (!strcmp(what, "states")) states();
    if (!strcmp(what, "crowd")) crowd();
    if (!strcmp(what, "storm")) storm();
    if (!strcmp(what, "forks")) forks();
    if (!strcmp(what, "execs")) execs(argv, argc > 3 ? (int)strtol(argv[3], NULL, 10) : 3);
    if (!strcmp(what, "handler"))
        execs_in_handler(argv, argc > 3 ? (int)strtol(argv[3], NULL, 10) : 3);
    if (!strcmp(what, "events")) closes_events();
    if (!strcmp(what, "opens")) opens();
    if (!strcmp(what, "c11")) c11();
    if (!strcmp(what, "asks")) asks();
    if (!strcmp(what, "daemon")) {
        spin_here(clock_s(CLOCK_MONOTONIC) + seconds);
        return daemon(1, 1) == 0 ? 0 : 1;
    }
    if (!strcmp(what, "takes")) takes_signals();
    if (!strcmp(what, "quit")) return (int)seconds;
    if (!strcmp(what, "resets")) resets();
    if (!strcmp(what, "sigwait")) waits_for_signals();
    if (!strcmp(what, "closes")) closes(argc > 3 ? (int)strtol(argv[3], NULL, 10) : -1);
    if (!strcmp(what, "deep")) printf("deep %d\n", deeper(400));
    if (!strcmp(what, "nobody")) { /* all threads block the signals here */
        rest(seconds / 2);
        if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
        rest(seconds / 2);
    }
    if (!strcmp(what, "deaf")) {
        uint64_t none = 0;
        deaf(NULL);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
        rest(0.3);
    }
    if (!strcmp(what, "alone")) alone();
    if (!strcmp(what, "idle")) rest(seconds);
    return 0;
}
