/* tests/e2e/agent_host.c - programs whose profile is known in advance, for agent_known.
 *
 *   split MS      burns CPU time in pairs of functions, 70 to 30, and prints the time of each by its own clocks
 *   states MS     one thread sleeps, one waits for a lock, one reads, one spins
 *   spans MS      every function runs inside one span only, or inside none
 *   plugin FILE   burns CPU time in a library that is loaded and unloaded
 *   recursion     recurses deeper than any limit of frames
 *   children MS   forks, forks in a child, vforks and execs; prints the process ids */
#include "kiln/span.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#ifdef __clang__
#define KNOWN NOINLINE static
#else
#define KNOWN NOINLINE __attribute__((noclone)) static
#endif

static uint64_t now_ns(clockid_t clock)
{
    struct timespec s;
    clock_gettime(clock, &s);
    return (uint64_t)s.tv_sec * 1000000000 + (uint64_t)s.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(2);
}

static pthread_t begin(void *(*f)(void *), void *p, const char *name)
{
    pthread_t t;
    if (pthread_create(&t, NULL, f, p)) fail("pthread_create");
    pthread_setname_np(t, name);
    return t;
}

static void end(pthread_t t)
{
    if (pthread_join(t, NULL)) fail("pthread_join");
}

/* Burns CPU time of the calling thread inside the enclosing function; returns the time by its
 * clock.  `k` differs in each function, because the compiler merges equal functions. */
#define BURN(ns, k)                                                                                \
    uint64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID), until = from, x = 1;                          \
    do {                                                                                           \
        for (volatile int i = 0; i < 20000; i++) x = x * 31 + (k);                                 \
        __asm__ volatile("" : : "r"(x));                                                           \
        until = now_ns(CLOCK_THREAD_CPUTIME_ID);                                                   \
    } while (until - from < (ns));                                                                 \
    return until - from

/* ---- split ---- */

KNOWN uint64_t known_heavy(uint64_t ns) { BURN(ns, 11); }
KNOWN uint64_t known_light(uint64_t ns) { BURN(ns, 12); }
KNOWN uint64_t known_first(uint64_t ns) { BURN(ns, 13); }
KNOWN uint64_t known_second(uint64_t ns) { BURN(ns, 14); }

static uint64_t split_ns;
static struct {
    uint64_t heavy, light, first, second;
} clocks;

/* Works in slices of uneven length, so that no sampling rate is synchronized with them. */
static uint64_t uneven(uint64_t *r, uint64_t mean)
{
    *r = *r * 6364136223846793005 + 1442695040888963407;
    return mean / 2 + (*r >> 33) % mean;
}

static void *one_thread(void *p)
{
    uint64_t r = 1;
    while (clocks.heavy + clocks.light < split_ns / 10 * 7) {
        clocks.heavy += known_heavy(uneven(&r, 7000000));
        clocks.light += known_light(uneven(&r, 3000000));
    }
    return p;
}

static void *thread_first(void *p)
{
    while (clocks.first < split_ns / 100 * 21) clocks.first += known_first(5000000);
    return p;
}

static void *thread_second(void *p)
{
    while (clocks.second < split_ns / 100 * 9) clocks.second += known_second(5000000);
    return p;
}

static int split(uint64_t ns)
{
    split_ns = ns;
    pthread_t a = begin(thread_first, NULL, "first"), b = begin(thread_second, NULL, "second");
    one_thread(NULL);
    end(a), end(b);
    printf("{\"known_heavy\": %llu, \"known_light\": %llu, \"known_first\": %llu, "
           "\"known_second\": %llu}\n",
           (unsigned long long)clocks.heavy, (unsigned long long)clocks.light,
           (unsigned long long)clocks.first, (unsigned long long)clocks.second);
    return 0;
}

/* ---- states ---- */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int pipe_fds[2];
static atomic_bool over;

static void *known_sleeps(void *p)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(uintptr_t)p;
    while (!atomic_load(&over) && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL)) {}
    return NULL;
}

static void *known_blocks(void *p)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return p;
}

static void *known_reads(void *p)
{
    char c;
    if (read(pipe_fds[0], &c, 1) != 1) fail("read");
    return p;
}

static void *known_spins(void *p)
{
    while (!atomic_load(&over)) known_first(1000000);
    return p;
}

static int states(uint64_t ns)
{
    if (pipe(pipe_fds)) fail("pipe");
    pthread_mutex_lock(&held);
    void *seconds = (void *)(uintptr_t)(ns / 1000000000 + 1);
    pthread_t t[] = {begin(known_sleeps, seconds, "sleeper"), begin(known_blocks, NULL, "blocked"),
                     begin(known_reads, NULL, "reader"), begin(known_spins, NULL, "spinner")};
    uint64_t until = now_ns(CLOCK_MONOTONIC) + ns;
    while (now_ns(CLOCK_MONOTONIC) < until) usleep(100000);
    atomic_store(&over, true);
    pthread_mutex_unlock(&held);
    if (write(pipe_fds[1], "x", 1) != 1) fail("write");
    for (size_t i = 0; i < 4; i++) end(t[i]);
    return 0;
}

/* ---- spans ---- */

/* span_N works inside span N only; span_0 inside none. */
#define SPANS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define X(n)                                                                                       \
    KNOWN uint64_t span_##n(uint64_t ns) { BURN(ns, 100 + n); }
SPANS(X)
#undef X

static void ids(int n, uint8_t trace[16], uint8_t span[8])
{
    memset(trace, 0xa0 + n, 16), memset(span, 0xb0 + n, 8);
}

static void enter(kiln_span_scope *s, int n)
{
    uint8_t trace[16], span[8];
    ids(n, trace, span);
    kiln_span_enter(s, trace, span, KILN_SPAN_SAMPLED);
}

static uint64_t spans_until;
enum { SLICE = 700000 };

static void *nests(void *p)
{
    (void)p;
    while (now_ns(CLOCK_MONOTONIC) < spans_until) {
        kiln_span_scope outer, inner, innermost;
        span_0(SLICE);
        enter(&outer, 1);
        span_1(SLICE);
        enter(&inner, 2);
        span_2(SLICE);
        enter(&innermost, 3);
        span_3(SLICE);
        kiln_span_exit(&innermost);
        span_2(SLICE);
        kiln_span_exit(&inner);
        span_1(SLICE);
        kiln_span_exit(&outer);
    }
    return NULL;
}

static void *one_span(void *p)
{
    bool fourth = (uintptr_t)p == 4;
    kiln_span_scope s;
    enter(&s, fourth ? 4 : 5);
    while (now_ns(CLOCK_MONOTONIC) < spans_until) {
        if (fourth)
            span_4(SLICE);
        else
            span_5(SLICE);
        usleep(200);
    }
    kiln_span_exit(&s);
    return NULL;
}

/* Tasks that move between threads: each has its own context. */
static struct {
    pthread_mutex_t lock;
    kiln_span_context context[3];
    bool free[3];
    int last;
} tasks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int take_task(void)
{
    int found = -1;
    pthread_mutex_lock(&tasks.lock);
    for (int i = 1; i <= 3 && found < 0; i++) /* in turn */
        if (tasks.free[(tasks.last + i) % 3]) found = (tasks.last + i) % 3;
    if (found >= 0) tasks.free[found] = false, tasks.last = found;
    pthread_mutex_unlock(&tasks.lock);
    return found;
}

static void make_tasks(void)
{
    for (int i = 0; i < 3; i++) {
        kiln_span_scope s;
        enter(&s, 6 + i);
        kiln_span_current(&tasks.context[i]);
        kiln_span_exit(&s);
        tasks.free[i] = true;
    }
}

static void *runs_tasks(void *p)
{
    (void)p;
    static uint64_t (*const work[])(uint64_t) = {span_6, span_7, span_8};
    while (now_ns(CLOCK_MONOTONIC) < spans_until) {
        int i = take_task();
        if (i < 0) continue;
        kiln_span_context outer;
        kiln_span_attach(&tasks.context[i], &outer);
        work[i](SLICE);
        kiln_span_detach(&tasks.context[i], &outer);
        span_0(SLICE / 4);
        pthread_mutex_lock(&tasks.lock);
        tasks.free[i] = true;
        pthread_mutex_unlock(&tasks.lock);
    }
    return NULL;
}

static int spans(uint64_t ns)
{
    spans_until = now_ns(CLOCK_MONOTONIC) + ns;
    make_tasks();
    pthread_t t[] = {begin(nests, NULL, "nests"), begin(one_span, (void *)4, "four"),
                     begin(one_span, (void *)5, "five"), begin(runs_tasks, NULL, "tasks-a"),
                     begin(runs_tasks, NULL, "tasks-b")};
    nests(NULL);
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) end(t[i]);
    return 0;
}

/* ---- libraries, depth, children ---- */

static int plugin(const char *path, uint64_t ns)
{
    for (uint64_t used = 0; used < ns; used += 100000000) {
        void *h = dlopen(path, RTLD_NOW);
        if (!h) return fprintf(stderr, "%s\n", dlerror()), 2;
        unsigned (*f)(unsigned);
        *(void **)&f = dlsym(h, "torture_plugin");
        f(100000);
        dlclose(h);
    }
    return 0;
}

KNOWN uint64_t known_deep(int n)
{
    volatile int here = n;
    return n ? known_deep(n - 1) + (uint64_t)(here != n) : known_first(300000000);
}

static void say_child(const char *ctx) { printf("%s %d\n", ctx, getpid()), fflush(stdout); }

static int children(const char *self, uint64_t ns)
{
    char ms[24];
    snprintf(ms, sizeof ms, "%llu", (unsigned long long)(ns / 1000000));
    say_child("known_first");
    known_first(ns);
    pid_t forked = fork();
    if (!forked) {
        say_child("known_second");
        known_second(ns);
        pid_t again = fork();
        if (!again) {
            say_child("known_light");
            known_light(ns);
            _exit(0);
        }
        waitpid(again, NULL, 0);
        exit(0);
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    pid_t other = vfork();
#pragma GCC diagnostic pop
    if (!other) {
        execl(self, self, "child", ms, (char *)NULL);
        _exit(127);
    }
    int a = -1, b = -1;
    waitpid(forked, &a, 0), waitpid(other, &b, 0);
    known_first(ns);
    return a || b;
}

static int child(uint64_t ns)
{
    say_child("known_heavy");
    known_heavy(ns);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "1000";
    uint64_t ns = strtoull(arg, NULL, 10) * 1000000;
    if (!strcmp(what, "split")) return split(ns);
    if (!strcmp(what, "states")) return states(ns);
    if (!strcmp(what, "spans")) return spans(ns);
    if (!strcmp(what, "plugin")) return plugin(arg, 1000000000);
    if (!strcmp(what, "recursion")) return known_deep(3000) == 0;
    if (!strcmp(what, "children")) return children(argv[0], ns);
    if (!strcmp(what, "child")) return child(ns);
    fprintf(stderr, "agent_host split|states|spans|plugin|recursion|children [MS|FILE]\n");
    return 2;
}
