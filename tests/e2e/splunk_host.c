/* A program with threads and spans whose stacks are known, for splunk_rules and agent_servers.
 *   splunk_host threads       one thread of each kind (below)
 *   splunk_host many N        N threads that wake up five times a second
 *   splunk_host setenv K=V... as `threads`; changes its environment while it runs
 *   splunk_host idle          nothing
 *   splunk_host fork K=V...   on a byte of input: changes its environment, forks and prints "child PID"; both run on
 *   splunk_host busy          works; prints the number of steps and the longest one
 * It prints "ready PID" and a line "thread TID NAME" for each of its threads, and runs until
 * standard input ends. */
#include <kiln/span.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
/* Placed after a call, so that it is not a tail call and the frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")

static atomic_bool over;
static atomic_uint settled; /* threads that have reached their final function */
static pthread_barrier_t in;
static volatile unsigned long sink;

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- kinds of threads ---- */

static void enter(kiln_span_scope *s, unsigned trace, unsigned span)
{
    uint8_t t[16], i[8];
    memset(t, (int)trace, sizeof t);
    memset(i, (int)span, sizeof i);
    kiln_span_enter(s, t, i, KILN_SPAN_SAMPLED);
}

NOINLINE static void in_no_span(void)
{
    nap(40);
    STAY();
}

NOINLINE static void in_inner_span(void)
{
    nap(40);
    STAY();
}

NOINLINE static void in_outer_span(unsigned b)
{
    nap(20);
    kiln_span_scope s;
    enter(&s, 0xa0 + b, 0xc0 + b);
    in_inner_span();
    kiln_span_exit(&s);
    STAY();
}

/* A sample that shows in_outer_span was taken in the outer scope or the inner one; its leaf shows
 * which. */
static void spans(unsigned b)
{
    while (!over) {
        kiln_span_scope s;
        enter(&s, 0xa0 + b, 0xb0 + b);
        in_outer_span(b);
        kiln_span_exit(&s);
        in_no_span();
    }
}

NOINLINE static void spin_in_span(unsigned b)
{
    kiln_span_scope s;
    for (int i = 0; i < 2; i++) {
        enter(&s, 0xa0 + b, 0xb0 + b);
        /* Measures CPU time, which does not depend on the load of the machine; between checks it
         * reads a vdso clock. */
        uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + 2000000;
        while (!over && now(CLOCK_THREAD_CPUTIME_ID) < end)
            for (int k = 0; k < 1000; k++) sink = sink + now(CLOCK_MONOTONIC);
        kiln_span_exit(&s);
    }
    STAY();
}

NOINLINE static void go_deep(unsigned n)
{
    if (n) {
        go_deep(n - 1);
    } else {
        settled++;
        while (!over) nap(20);
    }
    STAY();
}

NOINLINE static int compare(const void *a, const void *b)
{
    nap(10);
    STAY();
    return *(const int *)a - *(const int *)b;
}

static void sort_slowly(void)
{
    while (!over) {
        int v[] = {3, 1, 2};
        qsort(v, 3, sizeof v[0], compare);
    }
}

NOINLINE static void wait_blocked(void)
{
    uint64_t all = UINT64_MAX; /* libc's functions would leave the agent's signal out */
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    settled++;
    while (!over) nap(20);
    STAY();
}

NOINLINE static void wait_masked(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    settled++;
    while (!over) nap(20);
    STAY();
}

NOINLINE static void sleep_long(void)
{
    settled++;
    while (!over) nap(100000);
    STAY();
}

/* Threads that do not stay in one function. */
static void move(unsigned kind)
{
    switch (kind) {
    case 0:
    case 1: spans(kind + 1); break;
    case 2:
        while (!over) spin_in_span(5), nap(8);
        break;
    case 4: sort_slowly(); break;
    default:
        while (!over) nap(30);
    }
}

static const char *const names[] = {"spans-1", "spans-2", "spinner",       "deep",  "sorter",
                                    "blocked", "sleeper", "sl)p \"q\" #7", "masked"};
enum { KINDS = sizeof names / sizeof names[0] };

static void *thread(void *arg)
{
    unsigned kind = (unsigned)(uintptr_t)arg;
    prctl(PR_SET_NAME, names[kind]);
    printf("thread %ld %s\n", syscall(SYS_gettid), names[kind]);
    pthread_barrier_wait(&in);
    switch (kind) {
    case 3: go_deep(1000); break;
    case 5: wait_blocked(); break;
    case 6: sleep_long(); break;
    case 8: wait_masked(); break;
    default: settled++; move(kind);
    }
    return NULL;
}

/* ---- modes ---- */

static void stay(const char *name)
{
    char c;
    printf("thread %ld %s\nready %d\n", syscall(SYS_gettid), name, (int)getpid());
    fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) != 0) continue;
    over = true;
}

static void start(unsigned n, void *(*f)(void *), size_t stack)
{
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    if (stack) pthread_attr_setstacksize(&a, stack);
    pthread_barrier_init(&in, NULL, n + 1);
    for (unsigned i = 0; i < n; i++) {
        pthread_t t;
        if (pthread_create(&t, &a, f, (void *)(uintptr_t)i) != 0) abort();
    }
    pthread_barrier_wait(&in);
    while (settled < n) nap(1);
}

static void *waker(void *arg)
{
    char name[16];
    snprintf(name, sizeof name, "waker-%u", (unsigned)(uintptr_t)arg);
    prctl(PR_SET_NAME, name);
    printf("thread %ld %s\n", syscall(SYS_gettid), name);
    pthread_barrier_wait(&in);
    settled++;
    while (!over) nap(200);
    return NULL;
}

/* Runs steps of a millisecond of CPU time each until the end. The longest step in wall-clock time
 * is informative only: on a loaded machine it means little. */
static void busy(void)
{
    uint64_t steps = 0, longest = 0;
    struct rusage r;
    while (!over) {
        uint64_t begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
        while (now(CLOCK_THREAD_CPUTIME_ID) - cpu < 1000000) sink = sink + 1;
        uint64_t took = now(CLOCK_MONOTONIC) - begin;
        if (took > longest) longest = took;
        if (++steps % 5 == 0) nap(15);
    }
    getrusage(RUSAGE_SELF, &r);
    printf("steps %llu longest_us %llu maxrss_kb %ld\n", (unsigned long long)steps,
           (unsigned long long)(longest / 1000), r.ru_maxrss);
}

static void *watch_stdin(void *arg)
{
    pthread_barrier_wait(&in);
    settled++;
    stay("splunk_host");
    return arg;
}

/* Prints "ready" first; parent and child both return. */
static void become_two(char **variables)
{
    char c;
    printf("ready %d\n", (int)getpid());
    if (read(STDIN_FILENO, &c, 1) != 1) return;
    while (*variables) putenv(*variables++);
    int first = dup(STDIN_FILENO), last = first;
    for (int i = 0; i < 16; i++) last = dup(STDIN_FILENO);
    if (fork() != 0) return;
    for (int fd = first; fd <= last; fd++)
        if (fcntl(fd, F_GETFD) < 0) printf("lost %d\n", fd);
    printf("child %d\n", (int)getpid());
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "idle";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(mode, "threads") || !strcmp(mode, "setenv")) start(KINDS, thread, 0);
    if (!strcmp(mode, "setenv"))
        for (int i = 2; i < argc; i++) putenv(argv[i]);
    if (!strcmp(mode, "many") && argc > 2)
        start((unsigned)strtoul(argv[2], NULL, 10), waker, 64 << 10);
    if (!strcmp(mode, "fork")) become_two(argv + 2);
    if (!strcmp(mode, "busy")) {
        start(1, watch_stdin, 0);
        busy();
    } else {
        stay("splunk_host");
    }
    while (wait(NULL) > 0) continue;
    printf("done\n");
    return 0;
}
